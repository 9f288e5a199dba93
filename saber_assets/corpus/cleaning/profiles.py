"""What tells languages apart: function words, verbs of mathematics, letters, scripts."""

from __future__ import annotations

_TEXT = {
    "en": "the of and to in is that for be are with this it on as by an at from which not there "
    "have has if we then so can what how many each was will all two one find prove let show "
    "determine compute such given number where every some when it's does do between evaluate "
    "calculate solve suppose write use his her he she they you or than any these their its "
    "out up following more using express simplify factor graph explain draw equation function",
    "de": "der die das und ist von zu den mit ein "
    "eine einer eines einem einen für auf dass sich im "
    "nicht es sei seien sind dem des alle man gilt wie so als auch wird werden durch aus bei "
    "oder wenn dann zwei jede jeder jedes kann beweise beweisen bestimme bestimmen zeige "
    "zeigen zahl zahlen berechne finde finden gibt welche wobei punkt gegeben über sie er wir "
    "an am zum zur daß nur hat haben ihre keine zeigt",
    "fr": "le la les de des et est un une du que pour dans en qui sur par avec tout tous toute "
    "toutes soit soient on il elle montrer démontrer déterminer trouver calculer nombre "
    "nombres entier entiers telle tel tels où si alors au aux ce cette ces sont pas ne deux "
    "plus chaque étant donné donner montrez trouvez déterminez prouver combien peut ainsi "
    "leur d'un d'une qu'il n'est l'ensemble existe ont sa son ses quel quelle",
    "es": "el la los las de y es un una que en del por para con se su sus al lo como más no si "
    "entonces sea sean todo todos todas cada dos donde demostrar demuestre demuéstrese "
    "determinar determine hallar halle encontrar encuentre calcular calcule número números "
    "enteros tal tales cuántos cuál son hay qué ángulo punto está están este esta probar "
    "pruebe o entre también sobre hasta tiene forma",
    "it": "il lo la i gli le di e è un una uno che in del della dei delle per con si al alla sono "
    "non se ogni tutti tutte sia siano dimostrare dimostra dimostri determinare determina "
    "trovare trova calcolare numero numeri interi tale tali dove due più nel nella da dal "
    "come quanti qual punto anche questo questa quale esiste ha su sul allora",
    "pt": "o a os as de e é um uma que em do da dos das no na nos nas por para com se seu sua ao "
    "não todos todas cada dois duas sejam seja onde prove mostre determine encontre calcule "
    "ache número números inteiros tal tais quantos qual são há ponto mais então está pelo "
    "pela como também entre quantas demonstre sobre isto ele",
    "nl": "de het een en van is in op te dat die voor met zijn niet er aan als ook bij wordt door "
    "of maar alle elke twee bewijs bepaal vind laat gegeven getal getallen zodat waarbij punt "
    "hoeveel kan worden geldt deze dit naar uit om dan wat bereken toon men hebben heeft geen",
    "pl": "w i na z jest że do nie to się o dla od jak są oraz co przez po lub czy niech dowieść "
    "udowodnij wykazać wykaż wyznacz wyznaczyć znajdź oblicz liczba liczby liczb całkowitych "
    "takich który która które każdy każda każdego dwa trójkąt punkt ile wszystkie jeśli ich "
    "tego gdy ma jego przy dane takie dowolnych",
    "ro": "și şi de la în că o un pe cu să din este sunt nu care pentru mai sau fie dacă atunci "
    "orice toate două numere număr numărul demonstrați arătați determinați aflați găsiți "
    "calculați astfel încât unde punctul triunghiul al ale a cel cea cele se are au prin lui "
    "fiecare câte există dintre demonstraţi arătaţi determinaţi aflaţi",
    "cs": "a je v na se že s z do o pro jsou nebo který která které každé každý právě tak aby "
    "jestliže nechť dokažte určete najděte čísla číslo čísel všechna všechny dva trojúhelník "
    "bod kolik platí není také jako po ve od dokaž jeho jejich být má lze spočtěte takové",
    "sk": "a je v na sa že s z do o pre sú alebo ktorý ktorá ktoré každé každý práve tak aby ak "
    "nech dokážte určte nájdite čísla číslo čísel všetky dva trojuholník bod koľko platí nie "
    "tiež ako po",
    "hu": "a az és hogy egy nem is van ha akkor egész szám számok bizonyítsuk be határozzuk meg "
    "minden két pont háromszög mely olyan amely legyen legyenek hány vagy csak ezek keressük "
    "melyek mutassuk számot számokat bizonyítsd úgy mi el",
    "sv": "och att det som en ett är av för på med den till de i inte om har var alla visa bestäm "
    "finn låt varje två tal talet heltal sådana där då eller kan hur många punkt beräkna vid "
    "samt så från",
    "da": "og at det som en et er af for på med den til de i ikke om har hvor alle vis bestem find "
    "lad hvert to tal tallet heltal således der så eller kan mange punkt beregn ved samt fra "
    "når",
    "no": "og at det som en et er av for på med den til de i ikke om har hvor alle vis bestem finn "
    "la hver to tall tallet heltall slik der så eller kan mange punkt beregn ved samt fra når",
    "fi": "ja on että ei se joka jotka kun niin myös tai ovat kaikki jos olkoon olkoot osoita "
    "todista määritä etsi laske luku luvut lukua kaksi piste kolmio kuinka monta jokainen "
    "joille siten voidaan sen kokonaisluku mikä ole",
    "tr": "ve bir bu için ile olarak olan her de da ki ise gibi ne kadar kaç tüm bütün olsun "
    "olduğunu gösteriniz kanıtlayınız bulunuz bulun sayı sayısı sayılar tam iki nokta üçgen "
    "üçgeninde veya değil göre eğer en ispatlayınız vardır kaçtır olmak üzere",
    "vi": "và của là các có cho một trong với không được số hai mọi rằng chứng minh tìm hãy tất cả "
    "sao điểm tam giác đường thẳng này khi những nếu thì tính nguyên dương bao nhiêu đó hoặc "
    "gọi",
    "hr": "i je u na se da za su od s iz ili koji koja koje svaki sve dva ako neka dokaži dokažite "
    "odredi odredite broj brojevi brojeva točka trokut koliko vrijedi nije takav takvi gdje "
    "nađi",
    "sl": "in je v na se da za so od s iz ali ki vsak vse dva če naj dokaži dokažite določi "
    "določite število števila števil točka trikotnik koliko velja ni tako kjer poišči katerih",
    "ca": "el la els les de i és un una que en del dels per amb es al si tot tots cada dos sigui "
    "siguin demostreu determineu trobeu calculeu nombre nombres enters tal tals on són hi ha "
    "quants més com aquest aquesta punt",
    "id": "dan yang di dari untuk pada dengan adalah ini itu tidak atau dalam ke sebuah jika maka "
    "bilangan semua setiap dua buktikan tentukan carilah hitung berapa banyak bulat sehingga "
    "titik segitiga diberikan misalkan nilai suatu",
    "et": "ja on et ei see mis kui siis ka või kõik iga kaks olgu tõesta leia arvud arv arvu punkt "
    "kolmnurk mitu selline kus täisarvud tõestage leidke ning",
    "lt": "ir yra kad ne tai su iš į kai jei visi kiekvienas du tegu įrodykite raskite skaičius "
    "skaičiai skaičių taškas trikampio kiek arba bei toks kurie",
    "lv": "un ir ka no ar par uz visi "
    "katram ja tad divi pierādīt pierādiet atrast skaitlis skaitļi "
    "punkts trijstūra cik vai kas kuriem dots",
    "ru": "и в на что не для с из по к от до это то как при если все всех каждого каждый где или "
    "найдите найти докажите доказать пусть число числа чисел два две точка точки треугольника "
    "треугольник сколько такие определите вычислите решите является так который которые их "
    "его может можно дано за у а",
    "uk": "і в у на що не для з із до від це то як при якщо всі всіх кожного кожен де або знайдіть "
    "знайти доведіть довести нехай число числа чисел два дві точка трикутника скільки такі "
    "визначте обчисліть є та який які їх його можна",
    "bg": "и в на че не за с от до това е се са да като при ако всички всяко където или намерете "
    "намери докажете докажи нека число числа числата два точка точката триъгълник колко "
    "такива определете по",
    "sr": "и у на да не за с од до је се "
    "су као ако сви сваки где или нађи одредити доказати докажи "
    "нека број бројева бројеви два тачка троугао колико такви који које",
    "mk": "и во на да не за со од до е се како ако сите секој каде или најди докажи нека број "
    "броеви два точка триаголник колку такви кои што",
}
WORDS: dict[str, frozenset[str]] = {
    language: frozenset(word for word in text.split()) for language, text in _TEXT.items()
}
"""Words that occur in almost every statement of a language."""

LETTERS: dict[str, dict[str, str]] = {
    "latin": {
        "ß": "de", "ñ": "es", "ã": "pt", "õ": "pt et", "ł": "pl", "ż": "pl", "ś": "pl",
        "ę": "pl lt",
        "ą": "pl lt", "ț": "ro", "ţ": "ro", "ă": "ro vi", "ș": "ro", "ř": "cs", "ě": "cs",
        "ů": "cs", "ľ": "sk", "ĺ": "sk", "ő": "hu", "ű": "hu", "å": "sv da no", "ø": "da no",
        "æ": "da no", "ğ": "tr", "ı": "tr", "ơ": "vi", "ư": "vi", "đ": "vi hr", "ế": "vi",
        "ạ": "vi", "œ": "fr", "ê": "fr pt vi", "ė": "lt", "ū": "lt lv", "ā": "lv", "ī": "lv",
        "ķ": "lv", "ļ": "lv", "ņ": "lv", "¿": "es", "è": "fr it", "ç": "fr pt tr ca",
    },
    "cyrillic": {
        "ы": "ru", "э": "ru", "ё": "ru", "і": "uk", "ї": "uk", "є": "uk", "ґ": "uk", "ъ": "bg ru",
        "ј": "sr mk", "љ": "sr mk", "њ": "sr mk", "ђ": "sr", "ћ": "sr", "ѓ": "mk", "ќ": "mk",
        "ѕ": "mk",
    },
}  # fmt: skip
"""Letters that only some languages of a script have."""

SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {
    "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)),
    "cyrillic": ((0x400, 0x52F),),
    "han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F)),
    "ja": ((0x3040, 0x30FF), (0x31F0, 0x31FF)),
    "ko": ((0xAC00, 0xD7AF), (0x1100, 0x11FF), (0x3130, 0x318F)),
    "arabic": ((0x600, 0x6FF), (0x750, 0x77F), (0x8A0, 0x8FF)),
    "he": ((0x590, 0x5FF),),
    "el": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "hi": ((0x900, 0x97F),),
    "bn": ((0x980, 0x9FF),),
    "th": ((0xE00, 0xE7F),),
    "ka": ((0x10A0, 0x10FF),),
    "hy": ((0x530, 0x58F),),
}
"""Ranges of letters by script; a script of one language has its code as name."""
