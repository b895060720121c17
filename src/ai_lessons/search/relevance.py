"""What is an answer, what may be one, and what is none.

By scores, and by words that are rare here. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.languages import is_frequent, languages, stem
from ai_lessons.search.tokens import CJK, LOST, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Bars(NamedTuple):
    """From where on something is taken for an answer, or is rare."""

    # Chance of an answer from which on the best three are named though they may be none.
    # Of 1,535 questions to 272 long conversations 1 % are below it, of questions of other fields 0.6 to
    # 0.96 are.
    doubt: float = 0.14
    # Entries that are named where none is sure
    maybe: int = 3
    # Of so many entries one may hold a rare word
    rare: int = 100
    # Letters of a word that can be rare: of two there are few, and they stand for many things
    shortest: int = 3


BARS = Bars()


# Shares of the best score, and of the best chance, that an answer beside it has at least.
# Of the right ones among the first five of these conversations none is lost by them, and nDCG@10
# falls by .002; of ten results eight are left, and in small libraries one.
SHARE, LIKELY = 0.4, 0.3

# years, too
_COMMON_NUMBER = expression(r"\d{1,3}|(?:19|20)\d\d")


class Telling(NamedTuple):
    """A word of a question that tells what it is about, and how much of a reason it is to name who holds it."""

    word: str
    weight: float


def telling_words(question: str) -> dict[str, Telling]:
    """The words of a question that are no everyday words of its language, by their stems.

    Of a script without blanks two letters are half of a reason: they may belong to two words.
    """
    language = next(iter(languages(question)), "english")
    words: dict[str, Telling] = {}
    for word in words_of(question):
        base = stem(word, language)
        if re.match(CJK, word):
            words.setdefault(base, Telling(word, 0.5))
        elif len(word) >= BARS.shortest and not _tells_nothing(word, base, language):
            words.setdefault(base, Telling(word, 1.0))
    return words


def _tells_nothing(word: str, base: str, language: str) -> bool:
    if word in LOST or is_frequent(word, language) or _COMMON_NUMBER.fullmatch(word):
        return True
    return language == "english" and base in _stems()


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, _EVERYDAY.split()))


def held(words: Mapping[str, Telling], texts: Iterable[str]) -> list[Telling]:
    """Those of these words that stand in a text in some form."""
    stems: set[str] = set()
    for text in texts:
        stems |= words.keys() & {stem(word) for word in words_of(text)}
    results: list[Telling] = []
    for base, telling in words.items():
        if base in stems:
            results.append(telling)
    return results


def is_rare(holding: int, entries: int) -> bool:
    """Whether a word that so many of the entries hold is rare among them."""
    return 0 < holding <= max(1, entries // BARS.rare)


def holders(rare: Iterable[tuple[Telling, Iterable[str]]]) -> Counter[str]:
    """How much speaks for naming each entry: the rare words that it holds; below 1 nothing does."""
    weights: Counter[str] = Counter()
    for telling, entries in rare:
        for entry in set(entries):
            weights[entry] += telling.weight  # type: ignore[assignment]  # a Counter of fractions
    return Counter({entry: weight for entry, weight in weights.items() if weight >= 1})


def answers(
    scores: Sequence[float], chances: Sequence[float | None], beside: float = 0.0
) -> tuple[list[bool], float]:
    """Which results, best first, are answers beside the best one, and the score that they need.

    `chances` is how likely each is to answer by itself, None where nobody looked: a score is also a
    place in an order, and in a small library the second place says little. `beside` is the chance
    of the best rule that answers, too.
    """
    bar = SHARE * max(scores, default=0.0)
    likely = LIKELY * max((beside, *(chance for chance in chances if chance is not None)))
    listed = []
    for score, chance in zip(scores, chances, strict=True):
        listed.append(score >= bar and (chance is None or chance >= likely))
    if listed and not beside:
        listed[0] = True
    return listed, bar


# Everyday words of English, one form of each, the most frequent of encyclopedias and novels first;
# without names.
_EVERYDAY = """
the and was for with that his from her she you had were but this are not they one which have him first all
also their has who out been when after there into new two its time would what about said over then other more
can like back them only some could where just during before made school through than now years most world may
between down well three while will later city under around did such being used state people part know against
your many second university both national these don known off way until how even get head didn team because
born film since still long work became any high again day family see right man eyes house season war including
took life north same each called name much place however four group another found won area here going away
series left home music best make hand number company several never last very album take end good too following
released game played little began district old want those side held own early county league west face think
government march came small general town june line based something september thought looked along
international air july club went january october our august april few east show member college father public
come men five set station church next former november room party located december age got system let love
though every song water century without body black night within great women single building large population
river band white started once should service top built british open death king moved local children february
book why door need president order final road wasn although due major died village third knew asked turned say
together received main son served different behind himself felt power football law voice near park history saw
mother army point front help street art late award young put published country division across told often ever
french center six red led light find tell among species really according central half form original gave
office enough lost full must live given player run business woman community cup might million land court
development short round seen class story always become sure research almost director council career things
island couldn car close force better free support control field students education married nothing record big
inside level anything continued give military established non returned feel does title written feet william
far association hard already championship human western department hall role various production heart fire
version television royal produced act case society region present radio period least total keep wife program
per brother mind special soon political taken created further able reached union joined upon done important
social information either appeared position ground lead rock dark election board hair course arms site police
girl instead real sound words moment someone summer project announced less wrote past blue india design
considered northern stop battle toward outside described track today language heard professional low miles win
yet green trying blood science maybe everything match square mouth video race leave above daughter space
museum change middle common post lake seven ten minister months chief person sea similar modern brought rest
hit floor event doing robert care killed training star week finished rather news health sent example ran term
michael currently yes despite gold stage fact dead popular germany probably result pulled friend stood money
signed child eventually met tour average minutes festival deep kind decided usually eastern seemed episode bed
added table private route available idea throughout centre addition appointed style eight construction press
mean wall remained study sometimes possible australian type brown forward talk process food debut seat
performance features character herself else lot strong range hours morning sold quickly directed guitar list
media smile myself coach province wouldn whole boy official grand census attack henry cross alone action lower
network wide washington hospital believe sister hold gone hadn ship academy shot below bad involved kept
largest bank future especially beginning mark movement section female magazine plan professor longer sat
walked hill actually civil energy model size thus aircraft completed data captain fight vocals bridge fourth
stone hear medical management self lips competition entire technology federal tournament bit passed hot
independent kingdom mary spent fine doesn reported fall raised itself stay true studio sports replaced leader
theatre whose market capital parents earth cut degree writing natural higher bill coast provided previous
senior valley organization onto conference queen security interest allowed master earlier phone matter
happened campaign breath mid certain date italian standing fell artist deal mine industry everyone republic
collection library primary older via heavy attention anyone length fingers command staff skin foreign governor
okay medal sun cover job introduced chest hell success meet reason standard novel trade source rose guy goal
chapter native husband unit limited entered operations mountain related key texas cold channel traditional
dance clear approximately nine van question active silver author sense economic twenty isbn speed edition
regular historic whom shook movie secretary prior read foundation view engine scored airport property ready
immediately lady contract themselves writer meant practice singer glass commission required forest culture
access attended test couple catholic martin caught executive chair quite shoulder hope decision defeated
municipality whether structure offered slowly pain ice paper mission noted individual plant except computer
figure relationship issue significant loss gun ago highest male bring problem distance commercial annual
famous drive neck surface caused understand highway wrong hotel joseph double castle income review assembly
bass initially parliament experience particular foot window dropped miss baby break edge remember policy
carried stadium bar sex evidence assistant upper step wing youth financial actor numerous nodded arrived sorry
complex beautiful victory temple chance perhaps metal bishop launched tree retired subject prize contains yeah
theory empire suddenly waiting trust happy camp champion religious port ancient tom corner represented watch
legal anti justice material simply response louis fast answer straight increased rate administration overall
winner basketball legs guard beyond cast doctor flight cost effect winter larger chairman grew isn pay failed
selected hurt box regiment journal edward shown pretty scene spring junior fellow beach marriage rules oil
expected nearby congress peace recent subsequently cell variety agreed please poor attempt wood democratic
piece prime rural touch township soldiers closer claimed physical editor filled genus specific sitting super
mom therefore status fear store wales minor tower focus vice parish separate golden horse fifth branch stared
secret baseball exactly choice discovered travel composed truth russia ball color kiss dad wind ring referred
digital greater metres slightly crew troops broke goes hundred weight creek sleep memory defense code value
jewish safe judge whatever corps realized growing pre gaze lies spread letter situation mayor transport
workers extended expression normal chart multiple border host daily mrs piano heat cannot earned drama era
grade difficult machine territory squadron iron sky speak broken charge knowledge kilometres removed article
campus simple pushed britain soft latter easy acquired poland quality presence mass broadcast share image
influence wild emperor electric ability promoted yellow throat smaller politician spoke lack pop consists
estate pressure newspaper olympics online conditions beat elements vote text global block shirt purpose duke
ahead gas twice safety serious lieutenant firm amount mixed proposed perfect agreement affairs contemporary
paid prison save kitchen label intended academic nice teacher ben shut drums victoria opera graduated function
von mentioned picked recognized protection picture notable exchange percent fish elizabeth garden volume
hockey beside settled competed replied drew actress marine steel glanced farm risk tonight magic gray screen
dog residents bus none secondary literature destroyed flying founder households lay reserve usa gallery
younger approach urban avenue fully growth page honor jersey advanced revealed basic infantry pair equipment
visit search grant effort treatment buried republican primarily bottom owner jim dream bob spot contact soul
accepted del losing split price capacity basis trial guess whispered median strength tears senate card asian
agent software draw warm supposed com pro transferred leaned candidate escape potential entertainment traffic
jackson slow orchestra haven agency taught website comedy unable storm rugby environment scientific grabbed
boat typically damage principal divided dedicated mount ohio fought driver empty sort thank berlin prominent
account freedom necessary headquarters alongside des suggested learning sweet technical easily teeth
settlement scale renamed ray max enemy semi joint compared scottish leadership analysis georgia captured
animal deputy guest tony combined method challenge huge battalion rise crime facilities path platform assigned
rich alive concept conducted wearing bought holy ocean purchased coffee occurred declared applied concert jazz
brain painting fleet tax nick count content birth palace critical refused fair laughed surrounding
participated formation lifted connected medicine laid santa tall yards entrance chosen beneath resources
nominated silence zone defined gained thirty moon adopted christmas register apart iran premier unknown
generation brigade quiet teaching clothes impact weapons partner flat theater supreme suffered kids internet
worth background quarter architecture disease railroad inc wish density crowd stomach tone unique anyway
liberal vehicle thick dry drug theme creation strange colonel revolution bell silent rail relief combat shape
determined sales oxford heritage fiction distribution sight interview estimated reduced damn motion sixth rear
twelve dress audience brazil spirit noticed etc eric tight trouble drink vampire ranked newly wave phase
massachusetts pilot unlike philadelphia bright crown roof respectively tongue circle fox korea bronze expanded
sexual supply yourself inspired labour vision draft brand classic trip jesus entry neither trail atlantic
labor nose afraid identified intelligence cancer stephen imperial grey jason sunday swedish avoid extra uncle
message surprise fame hunter citizens davis environmental confirmed shit existing opportunity nor shop
opposite pakistan reality barely conversation faculty documentary nuclear stock grace eat alternative bag
cemetery sarah cricket ride exhibition target ear explained rain injury occupied netherlands clean billion
constitution maximum francis jose ontario bear core rolled drawn permanent fun chamber height lyrics snow
oldest orange qualified interior apparently succeeded thousand dinner fans heavily greatest conservative send
bowl plus catch economy duty speech princess shall desk passenger sharp acres ass weather fund check adult
southeast lane application les prevent display earl cool obtained portion reaction dean peak counter religion
chain rare convention aid mobile squad wonder crazy sword weren philosophy category wolf frequently abandoned
literary task entitled threw factory tiny soccer achieved defence persian arrested otherwise elementary
criminal conflict worry signal bird truck programme details faith sector korean fuel evil brief identity
address pool web planet ian anne invited briefly climate walter worse albert desire northeast dangerous gate
doubt wooden multi poet communications violence copies prepared investigation skills electronic ultimately
singing restaurant tomorrow fashion christ ward flow fresh americans wrestling approved employed suit angel
frame selling thin temperature statement ali inhabitants extensive narrow jane flowers promise somewhere
object cape presidential legislative artillery strike institutions chose kevin anymore attorney fit billboard
agricultural sought admitted mexican charlie hole howard credit accident proved struck hey stuff slid
expansion cat anthony melbourne opposed sub southwest failure plane map camera tank listen regarding wet
introduction metropolitan link inch grown gene anger fixed buy dvd khan domestic worldwide chapel mill pocket
antonio unless circuit concerned attached journalist journey converted provincial aren negative aside knight
lap survey noise billy shooting guide bedroom priest resistance motor giant equal comic patients hidden solid
afternoon wedding canal kim treaty turkish recognition cathedral broad knees incident norwegian handle cheek
contest advantage emergency wrapped pink somehow bachelor seventh assumed chemical personnel jeff portuguese
wore tied device progress hired nfl forever tennis saturday junction hip incorporated neighborhood ceremony
visual stairs decades inner kansas hung scheduled downtown engaged austria clock norway pale victor employees
plate tropical philippines retrieved anderson gordon vietnam outstanding muslim folk demand observed lawyer
kelly string pleasure budget items colorado philip derived survived mental jews distinguished ltd sri
extremely athletic loud shadow arena users contributed dragon aware johnny flag investment shock capable clark
row wheel session familiar biggest hate maintained drove request injured underground tunnel stupid cabinet
indiana spend behavior protein gently chase morgan burning wake mirror jimmy indeed impossible historian
wisconsin invasion argued painter egypt experienced vol spoken switzerland reform forget massive resigned
allen locked improved wounded sick pack merged coal brick understood dynasty queensland crisis referee arizona
colonial formal palm lucky hide rescue juan weekend luke cash fallen delivered affected installed swiss shore
file proper jump constant trophy partnership factor musicians cry bound indicated hero houston medium somewhat
cycle beer frederick gotten eleven worst weak arranged chin loan bond fifteen pattern disappeared translated
arab insurance shifted cave prix warning coat plot smell feed golf favorite knife finance quebec opinion
manner choose discovery confused tired stream techniques committed throw measure horror sand salt calm runner
rush greece consecutive matthew sighed documents accused islamic organisation lit concrete taste composition
shaking faster amateur adjacent twin flew obviously ridge storage carl concluded desert driven terminal
sequence borough constituency creative cousin margaret montreal mode andy roughly threatened meters meanwhile
repeated grass czech tea appeal solution pierre classification glad belt rachel add expedition gift childhood
fifty mathematics mph smoke israeli kentucky grandfather emma profit truly lawrence cole begun enjoyed poverty
ethnic gay gary accompanied residential acid mail jonathan strategy net forty cook equivalent commonwealth
distinct ill harris imagine formula ensure scheme occasionally favor contrast hanging hunt instruments victims
danish christopher demon sugar earliest balance slipped carter visible iraq commune zero bathroom option tail
clay afterwards jaw visitors aviation kate temporary swimming forth smooth audio bush eddie honorary dallas
pure racial ceo parliamentary benefit flesh dublin louisiana membership coastal medieval scholars rice makeup
definitely collaboration boss baron birthday soil diocese ncaa shell shouldn waist plain ross resolution
manufacturing kennedy whilst moth crash carlos cable depending bottle rejected responded denmark treated
talent commissioner reign restored photography oklahoma disc grin robin paused atlanta unusual praised las
satellite hungary deck poems norman stuck speaker rifle domain reputation eliminated ceiling script leather
austin mississippi rapidly admiral parallel charlotte guilty tools gender fruit laboratory fantasy aunt tribe
aspects suicide amongst bone ukraine abc kick column gods broadway gathered snapped solar cavalry waste index
franklin charity thompson stewart tip flash landscape friday singh eighth fred adapted bomb ukrainian surgery
corporate anywhere odd sean portugal orleans debate kent puerto cinema guitarist depth panel struggle
peninsula metro shoes tamil songwriter instance heaven scared passage superior retained malaysia warren
maintenance allied advice alabama cleveland hat battery smart soundtrack coalition funny outer ambassador roy
campbell loose ethan gonna monster frequency gang plastic easier gulf blade exposed pan nervous electoral
ownership shield assault socialist abbey monument license throne jay charter cloud oak connecticut wright
colour context welsh gabriel jerry forehead occupation print nicholas brazilian strategic roots seek correct
und hop stanley welcome austrian exit strip whereas deeply adventure jamie components cap protest ottoman
symphony boundary considerable tons cooper illegal revolutionary holiday harder jacob circumstances
destruction grip classified donald honour mechanical till statue commerce indonesia meat baker orthodox
depression worn naked claire muttered sentence emily vessel spiritual bent virgin minimum murray lunch danny
compilation keyboards false blow belonged pittsburgh indigenous barry stick susan attracted spell romantic
photo customers logan revival modified jeans upset raw phil detective vincent diamond coverage lucas external
franchise helen bible successor percussion celebrated profile clan romania nobody shrugged fault rhythm
breakfast carbon violent ken killer gradually dollars sang chemistry legislature disney uniform integrated
purple denied liquid karl influential intense experimental twisted pace nazi mitchell blind basin forgotten
monastery manual couch description appropriate merely tag sebastian triple elder warriors benjamin julian
convinced stronger amazing declined versus merchant output finland barbara absence ignored dawn luis expensive
symbol shower sheriff characteristics aimed button ratio summit angle jury foster pants dozen advertising
patrol lifetime principles birmingham sponsored acoustic creature longest harbor dust milk infrastructure
indians leon archbishop pitch girlfriend serbian hence sad scent fur scientists dirty penalty burst portrait
seed pole rival stable alpha grave alcohol mystery devil habitat larry remote cotton preserved cited vast
scholarship cbs joy knocked eve gap fate excellent saints youngest climbed discussion choir jacket revenue
nevertheless neil clinical brooklyn catherine fuck farmers ninth pride hugh evolution ordinary comfortable
shouted tech encouraged taiwan representation panic fat occasions cabin marcus muscles victorian transition
warner bet permission slave terrible seth uefa possession mall harrison elevation asleep ash argument leo
concentration hispanic guardian extent emotions mason bloody controversy diameter steady mistake violin
departure richmond spin funeral gear literally connor random sergeant transmission sacred suspended portland
luck hull expert layer jerusalem latest lloyd statistics deeper recommended arkansas mess greg eagle recovered
eggs keith delhi turner pit belief withdrew bonus fled nbc portrayed justin hallway ralph distant continental
spider bite intention egyptian bow tourism tiger dominated nurse partially tape psychology essential duo
civilian hebrew tommy carrier intersection beast hudson lab nova bench costa behalf unfortunately rocky siege
friendship honey wildlife preferred pregnant dennis suspected boots instantly weird automatic businessman
alleged mood perry venue jet remainder passion biological boyfriend dirt ron segment abuse genre thrown stroke
stress exercise abroad dramatic thereafter madrid widespread tale todd monday descent substantial regime
switch zane ted proof cream volunteer manor silk milan donated venture delivery enterprise witch reminded
copper pete inter colin elsewhere scream tension submarine finnish defending pat affiliated stuart villa
belgian folded resort demolished lucy lion photographs craig beth noble debt percentage yorkshire erected
confidence ceased telephone retail sixteen commented hampshire innocent dual pounds regulations afghanistan
sung rico liberty assets bigger relegated tribute leaf romanian forum lisa gmina madison hurricane rev bristol
elite valuable disaster democracy germans freyja loop absolutely sole prayer spencer doorway bull lover
conclusion thirteen lily nhl proud sample drummer guinea murphy attributed horn ain railways steven autumn
ferry opponent corridor stretched sheet trinity cattle manhattan murdered grandmother vegas caribbean
desperate drunk trio raf nathan bat murmured interrupted pioneer harold delta mini chorus tend indoor load
updated jail wealth rangers sufficient rebuilt cardinal flood muhammad whenever moral repair viewers revenge
punk bath innings illustrated nearest voters clinton beijing andre radar suitable dismissed hms ban pine wrist
atmosphere voivodeship bid timber cameron recovery uss serbia laughter noah ensemble therapy pearl everywhere
ballet lanka outdoor derek swept exclusive bangladesh tube wealthy thai isolated insisted pen fortune ticket
enforcement wider lowest owen furthermore fighters peru reed chancellor mask eldest flames reduction wire
advisory endemic settlers pursue consumer compound mansion deployed frowned kilometers perspective terminus
duncan alien fist fed derby swallowed patent characterized slide hawaii jurisdiction adelaide rogers swing
implementation stolen certified colombia garage recalled rage harm nigeria breast furniture pupils cuba client
alaska linear thrust latino genetic terror lightning fee witness lodge skull hood rebellion missile devoted
activist porch worship fourteen package decorated chess sailed joan garcia harbour jeremy jacques relocated
amendment companion simultaneously volleyball spun tossed shoved munich tenure vertical romance craft www
honest tyler yesterday virtual snake immigrants radical ease prefecture blame hungry rubbed subsidiary
armenian sao sweat physician exposure sandy explanation isaac hart stakes tourist regardless closest sultan
riley aboard slammed baptist ongoing interstate playoffs hindu error tier plenty trapped excited sank athens
denver welfare suburb trick diverse belly yelled conductor sensitive hello dispute globe rocket amsterdam inn
airlines archaeological interpretation devon impressed barcelona sullivan jesse grandson gauge trace raymond
thumb serial bulgarian demonstrated alberta underneath romanized relieved acquisition phrase cliff han merger
nee gilbert assessment cafe difficulty swung jennifer grove sum substitute reception reflected destination
parade florence incumbent framework pedro frozen procedure olivia shelter brisbane marble comprehensive oxygen
leonard inaugural iranian attitude mainstream mars dakota norfolk unsuccessful explosion helicopter inspector
bitch seal divine examination punishment sink unincorporated nevada squeezed dylan dining martial manuel
eighteen brushed ivy congregation slept curve restricted negotiations arnold bold intermediate margin ruler
gothic intellectual eligible buses widow syria collapsed recipient maritime goddess clerk surrender database
ideal beetle soap anglo shorter retreat tough coins locomotives comparison topics nephew sierra ibn fortress
recognised carved bread beaten northwestern merit submitted virus drake marc stem leeds nowhere fellowship
relevant shah tenth verse corruption instruction inherited reverse emphasis rabbi payment nancy venice fastest
sexy adrian ruth touchdown favour scattered holland permitted diesel kenya den resumed dragged rider servant
blinked torn input meal everybody cylinder bullet logic evolved healthy fool chocolate wise pradesh chicken
artificial gross corresponding convicted cage dialogue narrative stranger mario christianity trent buddhist
maurice yale bike altitude mouse revised veteran theology legion cancelled excuse liga variable curious bin
legacy renaissance symptoms binding vocalist dancer grammar gospel diplomatic hitler oriented fundamental
hardware confederate guilt chuck magnetic petersburg bulgaria otto phd reader pitcher reservoir bennett
monitor signature ranch encounter calendar cruz croatia shakespeare basement hook uncredited faded dare
phillips fury obama efficient arc min raid breeding inducted axis montana karen anchor tomb vary lords
newcastle faint innovation mixture peer tissue logo architects rope ottawa francois saudi advocate armor
divorce abraham temporarily matrix pulse curled bengal usage annie certificate warsaw jessica mutual circular
eugene vulnerable depicted dame heir enormous lessons nepal louise renowned liam plaza sophie brilliant
mainland server pleasant seized jerked beta radiation warmth southeastern sin joke trunk roland qualification
archives heels artwork judicial woke abu floating fake lesser interface amanda saxophone monk auto interaction
outbreak glory consciousness awake ski enrolled rookie brow somebody biography warfare dissolved rally
accurate undergraduate specialist venezuela shed fluid footage jared prey exile lebanon wiped shanghai marvel
variant pirates sheep capita manuscript deemed variations relaxed curse azerbaijan heavyweight nickname
editorial grid tightened earthquake miguel brooks consumption molecular felix civic graphics realm autonomous
delayed workshop militia trump canyon harsh eyebrows embassy wellington hannah sony swear commenced nashville
courage garrison hamlet rebels literacy ruins jenny hasn freight sixty bastard deer delaware boulevard barrel
pursuit consequences shallow rode depot ernest kane rod preston blast descendants montgomery span chaos fewer
sanctuary mud fbi unity harper handsome closure thunder linda facade satisfied dale cork dome panama equation
bryan quartet melody disbanded sheffield gasped maggie sts poured creator extinct hug complicated poll
clenched thereby quantum spine cdp humor administered semifinals commentary bother roosevelt halfway crack
imprisoned neighboring marathon transformed cruise carol punch alarm daddy guidance liu tactical marshal della
arrow tender bitter advisor escort spare colleagues sucked pile prague suspension landmark fence torture
recreation survivors pond spy predecessor coup glow dug andrea feat barn casualties stern auckland pipe trevor
mercy spectrum yang epic comprises blew shane lopez sacrifice judgment perceived hammer baronet tune das
missionary neutral oral shade seminary michel refugees syndrome porter hamburg identification upstairs purse
widened santiago celtic recruited byzantine reconstruction farther diet sake spite sensation blank vladimir
accommodate orbit cult sofia sustained disorder northeastern mia crops violet threats blanket canton
southwestern prototype voyage altered moderate protocol pistol brass math doug dimensional dynamic pronounced
grateful quest uncomfortable boom chen barrier quinn diana mosque tribal cheese palmer chester treasure
download registration ate preliminary brandon invented eaten exterior intervention log lecture sally favourite
vermont invisible isle relay backward explore midfielder stefan cannon blond kenneth malcolm essex slavery
fairy cassie washed cop vinyl marco frontier growled curriculum loyal accomplished leslie ritual kenny
napoleon hybrid jungle friedrich platinum theatrical col rubber glen healing provisions columbus tributary
assured org prestigious grammy ronald allan essays flute consultant proceedings kerala yugoslavia buddy
methodist burial batman discontinued dock stockholm lungs manga steal mumbai iraqi robot bride abolished pot
joel overhead franz reconnaissance johann acknowledged alley palestine bradley grain thursday tuesday
wednesday
"""
