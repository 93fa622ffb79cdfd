"""Use cases of predicate policies: the built-in ones, and what a team adds to them."""

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as pg

from app.db.unit_of_work import Database, Tenant, UnitOfWork
from app.errors import StrataError
from app.knowledge.models import StoredPolicy
from app.knowledge.policies import BUILT_IN, KINDS, PredicatePolicy
from app.knowledge.schemas import PolicyInput, PolicyList, PolicyView
from app.tenancy import audit
from app.tenancy.audit import Actor

_FIELDS = tuple(PredicatePolicy.__dataclass_fields__)


class PredicateService:
    """Policies of a team."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_all(self, tenant: Tenant) -> PolicyList:
        """Built-in policies and the team's own, by predicate."""
        async with self._database.tenant(Tenant(tenant.team_id)) as unit:
            rows = (await unit.execute(_stored(unit))).mappings().all()
        own = [
            _view(PredicatePolicy(**{name: row[name] for name in _FIELDS}), built_in=False) for row in rows
        ]
        listed = [*own, *(_view(policy, built_in=True) for policy in BUILT_IN.values())]
        return PolicyList(items=sorted(listed, key=lambda policy: policy.predicate))

    async def add(self, tenant: Tenant, actor: Actor, data: PolicyInput) -> PolicyView:
        """Add a policy; it never changes afterwards, since facts rest on it.

        Raises:
            StrataError: ``unsupported_policy`` for an unknown kind, ``conflict``: the predicate has a policy already.
        """
        if data.kind not in KINDS:
            raise StrataError("unsupported_policy", f"kind must be one of {', '.join(KINDS)}")
        values = msgspec.structs.asdict(data)
        async with self._database.tenant(Tenant(tenant.team_id)) as unit:
            statement = (
                pg.insert(StoredPolicy)
                .values(team_id=unit.tenant.team_id, **values)
                .on_conflict_do_nothing()
                .returning(StoredPolicy.predicate)
            )
            taken = data.predicate in BUILT_IN
            if taken or (await unit.execute(statement)).one_or_none() is None:
                raise StrataError("conflict", f"the predicate {data.predicate} has a policy already")
            await audit.record(unit, actor, "predicate.create", "predicate", data.predicate, kind=data.kind)
        return _view(PredicatePolicy(**values), built_in=False)


async def policy_of(unit: UnitOfWork, predicate: str) -> PredicatePolicy:
    """Policy of a predicate in the unit's team.

    Raises:
        StrataError: ``predicate_not_policed``.
    """
    if policy := BUILT_IN.get(predicate):
        return policy
    row = (
        (await unit.execute(_stored(unit).where(StoredPolicy.predicate == predicate)))
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise StrataError("predicate_not_policed", f"the predicate {predicate} has no policy")
    return PredicatePolicy(**{name: row[name] for name in _FIELDS})


def _stored(unit: UnitOfWork) -> sa.Select[tuple[StoredPolicy]]:
    return sa.select(*StoredPolicy.__table__.c).where(StoredPolicy.team_id == unit.tenant.team_id)


def _view(policy: PredicatePolicy, *, built_in: bool) -> PolicyView:
    return PolicyView(built_in=built_in, **{name: getattr(policy, name) for name in _FIELDS})
