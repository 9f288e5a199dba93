"""The words with which documents head their problems and solutions, in many languages.

All words are folded: lower case, without accents, with the letters o and l for the digits 0 and 1
that machine readers put into words.
"""

from __future__ import annotations

import unicodedata

_MISREAD = str.maketrans({"0": "o", "1": "l"})


def fold(word: str) -> str:
    """Return a word as this module's lists have it."""
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in spread if not unicodedata.combining(c)).translate(_MISREAD)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(word) for word in text.split())


PROBLEM = _words(
    "problem exercise question task puzzle aufgabe übung problème probleme exercice problema "
    "ejercicio esercizio quesito exercício questão задача задание упражнение opgave vraagstuk "
    "oppgave uppgift zadanie úloha příklad feladat tehtävä zadatak naloga problemă exercițiu soru "
    "πρόβλημα 問題 问题 题 문제"
)
PROBLEMS = _words(
    "problems exercises questions tasks aufgaben übungen problèmes exercices énoncés enoncés "
    "problemas ejercicios enunciados problemi esercizi quesiti exercícios questões задачи задания "
    "условия opgaven vraagstukken oppgaver opgaver uppgifter zadania úlohy příklady feladatok "
    "tehtävät zadaci naloge probleme exerciții sorular προβλήματα"
)
SOLUTION = _words(
    "solution lösung loesung solución soluzione solução решение oplossing uitwerking løsning "
    "lösning rozwiązanie řešení riešenie megoldás ratkaisu rješenje rešenje rešitev soluție çözüm "
    "розвязання λύση 解答 解 풀이"
)
SOLUTIONS = _words(
    "solutions lösungen loesungen musterlösungen lösungsvorschläge soluciones soluzioni soluções "
    "решения oplossingen uitwerkingen løsninger lösningar rozwiązania megoldások ratkaisut "
    "rješenja rešenja rešitve soluții çözümler corrigé corrigés λύσεις"
)
ANSWER = _words(
    "answer antwort réponse respuesta risposta resposta ответ antwoord svar odpowiedź odpověď "
    "válasz vastaus odgovor răspuns cevap"
)
PROOF = _words(
    "proof beweis preuve démonstration prueba demostración dimostrazione prova demonstração "
    "доказательство bewijs bevis dowód důkaz bizonyítás"
)
ALTERNATIVE = _words(
    "alternative alternativ alternativa alternativo alternate another other otra autre altra outra "
    "variante variant andere weitere другое альтернативное annan inne jiné"
)
LONE_ALTERNATIVE = _words("alternative alternativ alternativa alternativo variante variant")
"""Those that head another solution without the word for solution."""
ORDINAL = {
    fold(word): number
    for number, words in {
        1: "first 1st erste première primera prima primeira первое eerste första pierwsze "
        "elsie első",
        2: "second 2nd zweite deuxième seconde segunda seconda второе tweede andra drugie druhé",
        3: "third 3rd dritte troisième tercera terza terceira третье derde tredje trzecie třetí",
        4: "fourth 4th vierte quatrième cuarta quarta четвёртое четвертое vierde fjärde czwarte",
    }.items()
    for word in words.split()
}
CONNECTING = _words(
    "to of for the a an zu zur zum der die das von eine ein de du des d l la le les del della "
    "dello di do da dos al a el una un un uma к задачи till til van voor bij het een av do k"
)
NUMBER_MARKS = _words("nr no n nº n° num number numéro número numero № nro º")
JOINING = _words("and und et y e ed и en og och i a és ja și ve with mit con avec com с")
"""Words for "and" and "with": "Problems and Solutions" heads neither part."""
PAGE = _words("page seite página pagina strana strona sida side oldal стр страница sivu")
PART = _words("part teil parte partie section abschnitt часть deel część")
