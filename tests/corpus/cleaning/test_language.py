"""Statements of many languages, none of them used to write the profiles."""

from __future__ import annotations

import pytest

from saber_assets.corpus.cleaning.language import language_of

STATEMENTS = [
    ("en", "Let $n$ be a positive integer. Prove that $n^2+n$ is even."),
    ("en", "How many apples does Tom have left after he eats two?"),
    ("de", "Es sei $ABC$ ein spitzwinkliges Dreieck mit Umkreis $k$. "
     "Man zeige, dass $AB<AC$ gilt."),
    ("de", "Bestimme alle Primzahlen $p$, für die auch $p+2$ eine Primzahl ist."),
    ("fr", "Soit $ABC$ un triangle. Montrer que les trois médianes sont concourantes."),
    ("fr", "Combien y a-t-il de nombres premiers inférieurs à $100$ ?"),
    ("es", "Sea $ABC$ un triángulo acutángulo. Demostrar que el punto $P$ está en la recta $BC$."),
    ("es", "¿Cuántos números de tres cifras son divisibles por $7$?"),
    ("it", "Sia $ABC$ un triangolo acutangolo. Dimostrare che il punto "
     "$P$ appartiene alla retta $BC$."),
    ("it", "Trovare tutti i numeri interi $n$ tali che $n^2+1$ sia primo."),
    ("pt", "Seja $ABC$ um triângulo. Prove que o ponto $P$ pertence à reta $BC$ e não ao círculo."),
    ("pt", "Determine todos os números inteiros $n$ para os quais $n^2+1$ é primo."),
    ("nl", "Laat $ABC$ een driehoek zijn. Bewijs dat het punt $P$ op de lijn $BC$ ligt."),
    ("nl", "Bepaal alle gehele getallen $n$ waarvoor $n^2+1$ een priemgetal is."),
    ("pl", "Dany jest trójkąt $ABC$. Wykaż, że punkt $P$ leży na prostej $BC$."),
    ("pl", "Wyznacz wszystkie liczby pierwsze $p$, dla których $p+2$ też jest liczbą pierwszą."),
    ("ro", "Fie $ABC$ un triunghi. Arătați că punctul $P$ se află pe dreapta $BC$."),
    ("ro", "Determinați toate numerele prime $p$ pentru care $p+2$ este prim."),
    ("cs", "Je dán trojúhelník $ABC$. Dokažte, že bod $P$ leží na přímce $BC$."),
    ("cs", "Určete všechna prvočísla $p$, pro která je také $p+2$ prvočíslo."),
    ("hu", "Az $ABC$ háromszög köré írt kör középpontja $O$. Bizonyítsuk be, "
     "hogy $P$ az egyenesen van."),
    ("hu", "Hány olyan háromjegyű szám van, amely osztható hettel?"),
    ("sv", "Visa att det finns oändligt många primtal som är kongruenta med $3$ modulo $4$."),
    ("sv", "Bestäm alla heltal $n$ för vilka $n^2+1$ är ett primtal."),
    ("tr", "Bir $ABC$ üçgeninde $P$ noktası için $PA=PB$ olduğunu gösteriniz."),
    ("tr", "Tüm pozitif tam sayılar için bu eşitliği sağlayan kaç sayı vardır?"),
    ("vi", "Cho tam giác $ABC$ và điểm $P$. Chứng minh rằng các đường thẳng này đồng quy."),
    ("ru", "Дан треугольник $ABC$. Докажите, что точка $P$ лежит на прямой $BC$."),
    ("ru", "Найдите все простые числа $p$, для которых $p+2$ тоже простое."),
    ("uk", "Дано трикутник $ABC$. Доведіть, що точка $P$ лежить на прямій $BC$."),
    ("uk", "Знайдіть усі прості числа $p$, для яких $p+2$ також є простим."),
    ("bg", "Даден е триъгълник $ABC$. Да се докаже, че точката $P$ лежи на правата $BC$."),
    ("sr", "Дат је троугао $ABC$. Доказати да тачка $P$ припада правој "
     "$BC$ и да су углови једнаки."),
    ("zh", "设 $ABC$ 为锐角三角形,证明:点 $P$ 在直线 $BC$ 上。"),
    ("zh", "求所有满足条件的正整数 $n$。"),
    ("ja", "三角形 $ABC$ において、点 $P$ が直線 $BC$ 上にあることを示せ。"),
    ("ja", "すべての正の整数 $n$ を求めよ。"),
    ("ko", "삼각형 $ABC$에서 점 $P$가 직선 $BC$ 위에 있음을 증명하여라."),
    ("ko", "모든 양의 정수 $n$을 구하여라."),
    ("el", "Να αποδείξετε ότι το σημείο $P$ ανήκει στην ευθεία $BC$."),
    ("he", "הוכיחו כי הנקודה $P$ נמצאת על הישר $BC$."),
    ("ar", "أثبت أن النقطة $P$ تقع على المستقيم $BC$."),
    ("fa", "ثابت کنید که نقطهٔ $P$ روی خط $BC$ قرار دارد."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), STATEMENTS)
def test_statements(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    ["", "$x^2+1=0$", "Evaluate $\\int x\\,dx$.", "\\frac{a}{b}", "[image: of the cat in a hat]",
     "xyz abc def ghi", "ABC DEF 12 in", "α + β = γ", "解"],
)  # fmt: skip
def test_too_little_is_undetermined(text: str) -> None:
    assert language_of(text) == "und"


def test_words_in_formulas_do_not_count() -> None:
    german = "Bestimme alle $x$, für die $\\text{if the sum of these is what we have and it}$ gilt."
    assert language_of(german) == "de"
