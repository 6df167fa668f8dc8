package fetch

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// thin is how many letters of its own a page has at the most that is no page: a
// notice, a wall. What has more is an article, even one about such pages.
const thin = 1500

// notFoundPhrases are what sites write in the title or over the page instead of a
// status. A title must be one of them, but for the site's name, a number and an
// apology: whoever writes about missing pages says more.
var notFoundPhrases = phraseSet(
	"page not found", "file not found", "article not found", "content not found", "document not found", "url not found",
	"post not found", "resource not found", "story not found", "requested page not found", "page was not found",
	"page cannot be found", "page could not be found", "page can't be found", "page couldn't be found",
	"the page cannot be found", "the page could not be found", "the page was not found", "the page can't be found",
	"this page cannot be found", "this page could not be found", "this page can't be found", "that page can't be found",
	"the page you requested could not be found", "the page you requested cannot be found", "the page you requested was not found",
	"the requested page could not be found", "the requested page was not found", "the requested page cannot be found",
	"the page you are looking for could not be found", "the page you are looking for cannot be found",
	"the page you were looking for could not be found", "the page you are looking for was not found",
	"the page you are looking for does not exist", "the page you're looking for doesn't exist",
	"the page you're looking for can't be found", "the page you're looking for could not be found",
	"the page you were looking for doesn't exist", "we can't find that page", "we couldn't find that page",
	"we can't find this page", "we couldn't find this page", "we can't find the page", "we couldn't find the page",
	"we can't find the page you're looking for", "we couldn't find the page you're looking for",
	"we can't find the page you are looking for", "we couldn't find the page you were looking for",
	"page does not exist", "page doesn't exist", "this page does not exist", "this page doesn't exist",
	"the page does not exist", "page no longer exists", "this page no longer exists", "page not available",
	"this page is not available", "this page isn't available", "page is not available", "page no longer available",
	"this page is no longer available", "file or directory not found", "the resource cannot be found",
	"object not found", "nothing here",

	"seite nicht gefunden", "seite wurde nicht gefunden", "die seite wurde nicht gefunden", "seite existiert nicht",
	"diese seite existiert nicht", "die seite existiert nicht", "diese seite wurde nicht gefunden",
	"die angeforderte seite wurde nicht gefunden", "die seite konnte nicht gefunden werden",
	"diese seite konnte nicht gefunden werden", "seite nicht verfügbar", "artikel nicht gefunden",
	"page non trouvée", "page introuvable", "page inexistante", "cette page n'existe pas", "la page n'existe pas",
	"cette page est introuvable", "la page demandée est introuvable", "la page demandée n'existe pas", "page pas trouvée",
	"página no encontrada", "la página no existe", "esta página no existe", "página no existe", "no se encuentra la página",
	"no se ha encontrado la página", "no se encontró la página", "la página solicitada no existe",
	"pagina non trovata", "la pagina non esiste", "questa pagina non esiste", "pagina inesistente", "pagina non disponibile",
	"página não encontrada", "a página não foi encontrada", "esta página não existe", "página inexistente",
	"pagina niet gevonden", "deze pagina bestaat niet", "pagina bestaat niet", "de pagina is niet gevonden",
	"deze pagina is niet gevonden", "pagina kon niet worden gevonden",
	"nie znaleziono strony", "strona nie została znaleziona", "strona nie istnieje", "strona nie odnaleziona",
	"страница не найдена", "страница не существует", "такой страницы нет", "сторінку не знайдено", "сторінка не знайдена",
	"stránka nenalezena", "stránka nebyla nalezena", "stránka neexistuje", "stránka sa nenašla", "stránka nebola nájdená",
	"sidan hittades inte", "sidan kunde inte hittas", "sidan finns inte", "siden blev ikke fundet", "siden findes ikke",
	"siden ble ikke funnet", "siden finnes ikke", "fant ikke siden", "sivua ei löytynyt", "sivua ei löydy",
	"az oldal nem található", "oldal nem található", "a keresett oldal nem található",
	"pagina nu a fost găsită", "pagina nu există", "страницата не е намерена", "stranica nije pronađena",
	"sayfa bulunamadı", "aradığınız sayfa bulunamadı", "η σελίδα δεν βρέθηκε", "η σελίδα δεν υπάρχει",
	"halaman tidak ditemukan", "không tìm thấy trang", "trang không tồn tại", "ไม่พบหน้านี้", "ไม่พบหน้าที่คุณต้องการ",
	"ページが見つかりません", "ページが見つかりませんでした", "お探しのページは見つかりませんでした", "お探しのページが見つかりません",
	"页面不存在", "页面未找到", "找不到页面", "页面没有找到", "您访问的页面不存在", "找不到網頁", "頁面不存在", "找不到頁面",
	"페이지를 찾을 수 없습니다", "요청하신 페이지를 찾을 수 없습니다", "존재하지 않는 페이지입니다",
	"الصفحة غير موجودة", "لم يتم العثور على الصفحة", "הדף לא נמצא", "העמוד לא נמצא", "صفحه یافت نشد", "पृष्ठ नहीं मिला",
)

// notFoundWords say too little to stand alone in a title.
var notFoundWords = phraseSet("not found", "nicht gefunden", "non trouvé", "introuvable", "no encontrado", "non trovato",
	"não encontrado", "niet gevonden", "nie znaleziono", "не найдено", "不存在", "見つかりません")

// notFoundNoise may stand around a phrase.
var notFoundNoise = strings.Fields("404 error erreur fehler errore erro fout błąd ошибка code oops ooops uups ups sorry whoops")

// said is how clearly a heading says that there is no page.
type said int

const (
	other   said = iota // something else
	nothing             // noise alone: "Oops"
	number              // 404 alone, which is also a year
	hint
	clear
)

func sayNotFound(segment string) said {
	tokens := strings.Fields(fold(segment))
	has404, fault := slices.Contains(tokens, "404"), false
	rest := tokens[:0:0]
	for _, token := range tokens {
		if !slices.Contains(notFoundNoise, token) {
			rest = append(rest, token)
		} else if token != "404" {
			fault = true
		}
	}
	phrase := strings.Join(rest, " ")
	switch {
	case notFoundPhrases()[phrase], notFoundWords()[phrase] && has404, phrase == "" && has404 && fault:
		return clear
	case notFoundWords()[phrase]:
		return hint
	case phrase == "" && has404:
		return number
	case phrase == "":
		return nothing
	}
	return other
}

// headingSays reads a title or a heading: segments between bars and dashes, of
// which one at the most may be another, the site's name.
func headingSays(heading string) said {
	most, others := nothing, 0
	for _, segment := range segments(heading) {
		says := sayNotFound(segment)
		if says == other {
			others++
			if len(strings.Fields(segment)) > 4 {
				return other
			}
		}
		most = max(most, says)
	}
	if others > 1 || most == nothing && others == 1 {
		return other
	}
	return most
}

// notFound quotes the heading with which a page says that it is none, or is empty.
func (v *view) notFound() string {
	if !v.html || v.own > thin {
		return ""
	}
	title := headingSays(v.title)
	if title == clear {
		return v.title
	}
	for _, heading := range v.headings {
		says := headingSays(heading)
		if says == clear {
			return heading
		}
		if (title == hint || title == number) && says == hint || title == hint && says == number {
			return v.title
		}
	}
	return ""
}

var separators = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\s*[|·•»«›]+\s*|\s+[-–—:/~]+\s+|\s*::\s*`)
})

func segments(heading string) []string {
	return slices.DeleteFunc(separators().Split(heading, -1), func(s string) bool { return fold(s) == "" })
}

// fold makes headings comparable: lower case, no apostrophes, words and numbers
// apart by one space.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\'' || r == '’' || r == '‘' || r == 'ʼ':
			return -1
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r):
			return r
		}
		return ' '
	}, strings.ToLower(norm.NFKC.String(s)))
	return strings.Join(strings.Fields(s), " ")
}

// phraseSet is made when it is first asked for: most starts of the program read no page.
func phraseSet(phrases ...string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, p := range phrases {
			set[fold(p)] = true
		}
		return set
	})
}
