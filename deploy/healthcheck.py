"""Health check of the image: exit status 0 when ``/readyz`` answers 200. Standard library alone."""  # noqa: INP001

import contextlib
import http.client
import sys

PORT = 8080
TIMEOUT_SECONDS = 4


def main(port: int = PORT) -> int:
    """Ask the API on this machine; no proxy setting of the environment is looked at."""
    try:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        ) as connection:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            body = response.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        print(f"not reachable: {error}")  # noqa: T201  the engine keeps the output with the check's result
        return 1
    print(f"{response.status} {body}")  # noqa: T201
    return 0 if response.status == http.HTTPStatus.OK else 1


if __name__ == "__main__":
    sys.exit(main())
