"""Stop words: function words that are not indexed, and of which alone no keyword query is made.

Short on purpose (articles, prepositions, conjunctions, pronouns, forms of "to be"): BM25 already gives common words
little weight, and each dropped content word is one that nobody finds. English is the classic list of 33 that Lucene
uses. A language without a list drops nothing.
"""

from typing import Final

_LISTS: Final[dict[str, str]] = {
    "english": "a an and are as at be but by for if in into is it no not of on or such that the their then there"
    " these they this to was will with",
    "german": "aber als am an auch auf aus bei bin bis das dass daß dem den der des die du durch ein eine einem einen"
    " einer eines er es für hat ich ihr im in ist mit nach nicht noch oder sein sich sie sind so über um und uns"
    " von vor war was wenn wie wir wird zu zum zur",
    "french": "au aux avec ce ces cette d dans de des du elle en est et eux il ils j je l la le les leur leurs lui m"
    " ma mais me mes mon n ne nos notre nous on ont ou où par pas pour qu que qui s sa se ses son sont sur t ta te"
    " tes toi ton tu un une vos votre vous y à",
    "spanish": "a al como con de del el ella ellos en entre es esta este esto ha la las le les lo los me mi más muy"
    " no nos o para pero por que se ser si sin sobre son su sus también te tu un una uno y ya él",
    "italian": "a ad ai al alla alle allo anche c che chi ci come con d da dal dalla dei del della delle dello di e"
    " ed gli ha ho i il in io l la le lei li lo loro lui ma mi ne nei nel nella noi non o per più si sono su sul"
    " sulla ti tra tu un una uno vi è",
    "portuguese": "a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi isso isto"
    " já lhe mas me mesmo meu minha muito na nas no nos não nós o os ou para pela pelo por que se sem ser seu sua"
    " são também te um uma à é",
    "dutch": "aan al als bij dan dat de den der deze die dit door dus een en er had heb hem het hij ik in is je maar"
    " me met mij mijn naar niet nog nu of om onder ons ook op over te tot u uit van voor want was wat we wel wij"
    " zal ze zij zijn zo",
    "swedish": "alla att av de dem den denna det detta du där efter eller en er ett från för han har hon i icke inte"
    " jag kan man med men mig min mot ni nu när och om oss på sedan sig sin ska som så till under upp ut vad var vi"
    " är över",
    "norwegian": "alle at av både da de deg dem den denne der det dette du eller en er et etter for fra ha han har"
    " hun i ikke jeg kan man med meg men mot ned nå når og også om opp oss på seg som så til under ut var ved vi å"
    " over",
    "danish": "af alle at blev da de dem den denne der det dette dig du efter eller en er et for fra ham han har hun"
    " i ikke jeg kan man med men mig mod ned nu når og også om op os over på sig som så til ud under var ved vi",
    "finnish": "en ei ettei ette emme eikä he hän ja joka jos kun kuin me minä mutta myös ne niin nyt on olla oli ovat"
    " se sinä sekä tai te tämä että vaan vai",
    "russian": "а без бы в во вот все для до его ее её если еще ещё же за и из или их к как ко который ли меня мне мы"
    " на не него нее ни но о об он она они оно от по при с со так также там то тот ты у уже что чтобы это я",
    "hungarian": "a az be csak de egy el és ez ezt ha hogy is ki le meg mert mint nem sem van volt",
    "romanian": "a ai al ale am ar as au ca ce cu de din dar deci e ea ei el este eu fi i în îl îi la le lor lui mai"
    " ne nu o pe pentru prin sau se si și un una unei unui va ați",
    "turkish": "ama bir bu da de değil gibi ile için ki mi mu mü mı ne o ve veya ya şu",
    "catalan": "a al als amb com d de del dels el els em en entre és es est i l la les li lo m més n no o per perquè"
    " però que s se si són sobre són també un una uns",
    "greek": "αι απο από αλλά για δε δεν η θα και με μα να ο οι προς σε στη στην στο στον τα τη την της το τον του των"
    " τους ως που",
    "arabic": "في من على إلى عن مع هذا هذه ذلك التي الذي أن إن لا ما أو و ثم كان هو هي قد كل",
    "indonesian": "ada adalah akan atau dan dari dengan di dia ia ini itu juga karena ke oleh pada sebagai untuk yang",
    "hindi": "और का की के को में से है हैं पर ने यह वह भी तो ही कि था थी थे",
}

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(words.split()) for name, words in _LISTS.items()
}
"""Case-folded stop words by the name of the text-search configuration."""
