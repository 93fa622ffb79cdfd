"""Question words: what turns a sentence into a question and says nothing of what is asked for.

Interrogatives, personal pronouns and auxiliary verbs are indexed (a memory may be about "who" or "why"), but a question
that has any other word is better searched without them: "what did we decide about retries" asks for decisions about
retries. Dropping them from the English query raised BM25's nDCG@10 from .429 to .490 on questions to chats and from
.802 to .818 on questions to chat sessions, and changed nothing on titles and claims.
"""

from typing import Final

_LISTS: Final[dict[str, str]] = {
    "english": "who whom whose what which when where why how"
    " i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers"
    " herself its itself them theirs themselves"
    " am were been being do does did doing done have has had having can could would shall should"
    " those any some about from tell please dont didnt doesnt isnt arent wasnt werent havent hasnt hadnt cant couldnt"
    " wouldnt shouldnt",
    "german": "wer wen wem wessen welche welcher welches welchen welchem wo wohin woher wann warum weshalb wieso wie"
    " mich mir mein meine meinen meinem meiner dich dir dein deine deinen deinem deiner ihn ihm ihnen unser unsere"
    " euch euer eure bist seid waren warst habe habt hatte hatten hast haben wurde wurden werden kann kannst können"
    " konnte konnten soll sollen sollte sollten muss müssen bitte",
    "french": "qui quoi quel quelle quels quelles quand comment pourquoi combien lequel laquelle lesquels lesquelles"
    " moi toi vos était étaient être été avoir ai as avons avez avait avaient fait faire peut peux pouvez pourrait"
    " doit dois devrait",
    "spanish": "quién quiénes qué cuál cuáles cuándo dónde adónde cómo cuánto cuánta cuántos cuántas yo tú usted"
    " ustedes nosotros mis tus fue fueron era eran estar está están estaba haber hay había hace hacer hizo puede"
    " puedo podría debe debería",
    "italian": "quale quali quando dove perché quanto quanta quanti quante me te voi noi era erano essere stato avere"
    " abbiamo avete hanno aveva fare fa può posso potrebbe deve dovrebbe",
    "portuguese": "quem qual quais quando onde porque quanto quanta quantos quantas você vocês eram ser estar está"
    " estava ter tem têm tinha fazer faz fez pode posso poderia deve deveria",
    "dutch": "wie welke welk wanneer waar waarom hoe hoeveel jij jou jouw jullie hem haar hun zijn geweest heeft hebben"
    " hadden doen doet deed kan kun kunnen kon konden moet moeten zou zouden",
    "swedish": "vem vilka vilken vilket när var varför hur mitt min dig ditt er har hade göra gör gjorde kunde skulle",
    "danish": "hvem hvad hvilken hvilket hvilke hvornår hvor hvorfor hvordan min mit din dit have havde gøre gør gjorde"
    " kunne skulle",
    "norwegian": "hvem hva hvilken hvilket hvilke når hvor hvorfor hvordan min mitt din ditt hadde gjøre gjør gjorde"
    " kunne skulle",
    "russian": "кто кого кому чем чего чему какой какая какое какие когда где куда почему зачем сколько нас нам вас вам"
    " был была было были быть есть может можно",
}

QUESTION_WORDS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(words.split()) for name, words in _LISTS.items()
}
"""Case-folded question words by the name of the text-search configuration."""
