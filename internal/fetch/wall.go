package fetch

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-run/penstock/internal/weburl"
)

// challengeTitles are titles of pages that ask for proof of being a person, or
// that turn a program away, in place of the page.
var challengeTitles = phraseSet(
	"just a moment", "attention required", "one moment please", "please wait", "checking your browser", "ddos guard",
	"access denied", "access to this page has been denied", "pardon our interruption", "robot check", "are you a robot",
	"robot or human", "bot verification", "human verification", "verify you are human", "please verify you are a human",
	"verifying you are human", "security check", "security verification", "vercel security checkpoint", "client challenge",
	"making sure you're not a bot!", "captcha", "captcha challenge", "browser check", "unusual traffic", "request blocked",
	"nur einen moment", "einen moment bitte", "un instant", "un momento", "un momento por favor", "um momento", "een ogenblik geduld",
	"один момент", "подождите", "jeszcze chwila", "bir dakika lütfen", "请稍候", "請稍候", "しばらくお待ちください", "잠시만 기다리십시오",
)

// challengeMarks stand in the source of such pages and of no others; where they
// could, the page must be thin.
var challengeMarks = []struct{ mark, whose string }{
	{"_cf_chl_opt", "Cloudflare"},
	{"cf-browser-verification", "Cloudflare"},
	{"ddos-guard/js-challenge", "DDoS-Guard"},
	{"captcha-delivery.com", "DataDome"},
	{"px-captcha", "PerimeterX"},
	{"/_sec/verify?provider=interstitial", "Akamai"},
	{"sec-if-cpt-container", "Akamai"},
	{"awswafcookiedomainlist", "AWS WAF"},
	{"incapsula incident id", "Imperva"},
	{"_incapsula_resource?cwudnsai", "Imperva"},
	{"id=\"anubis_challenge\"", "Anubis"},
}

// captchas are widgets that ordinary forms use too.
var captchas = []string{"g-recaptcha", "h-captcha", "cf-turnstile", "smart-captcha"}

// challenge names the wall that stands in place of the page, or is empty. Headers
// are believed with any status; a body where a wall may come with its status.
func (a *answer) challenge() string {
	switch waf := strings.ToLower(a.header.Get("X-Amzn-Waf-Action")); {
	case strings.EqualFold(a.header.Get("Cf-Mitigated"), "challenge"):
		return "a challenge of Cloudflare"
	case waf == "challenge" || waf == "captcha":
		return "a challenge of AWS WAF"
	}
	if googleSorry(a) {
		return "a challenge of Google"
	}
	switch a.status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusPartialContent, http.StatusAccepted,
		http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	default:
		return ""
	}
	v := a.view()
	if !v.html || v.own > thin {
		return ""
	}
	source := bytes.ToLower(a.body.bytes)
	for _, m := range challengeMarks {
		if bytes.Contains(source, []byte(m.mark)) {
			return "a challenge of " + m.whose
		}
	}
	for _, segment := range segments(v.title) {
		if challengeTitles()[fold(segment)] {
			return "a challenge: " + strings.TrimSpace(v.title)
		}
	}
	text := fold(v.text)
	asks := slices.ContainsFunc([]string{"captcha", "robot", "human", "unusual traffic"}, func(w string) bool { return strings.Contains(text, w) })
	widget := slices.ContainsFunc(captchas, func(w string) bool { return bytes.Contains(source, []byte(w)) })
	if asks && widget && v.own <= thin/3 {
		return "a challenge: a captcha in place of the page"
	}
	return ""
}

// googleSorry reports whether an answer is the page that Google shows to programs.
func googleSorry(a *answer) bool {
	domain, err := weburl.Domain("https://" + a.from.host)
	return err == nil && strings.HasPrefix(domain, "google.") && strings.HasPrefix(a.from.url.Path, "/sorry/")
}

// consentHosts are first labels of hosts that only ask for consent.
var consentHosts = []string{"consent", "guce", "cookiewall", "privacywall"}

// consentSites are hosts that ask for consent on behalf of others.
var consentSites = []string{"myprivacy.dpgmedia.nl", "myprivacy.dpgmedia.be", "privacy.dpgmedia.nl"}

// consentTitles begin the titles of pages that ask for consent in place of the page.
var consentTitles = []string{
	"before you continue", "bevor sie fortfahren", "bevor sie zu", "avant d'accéder à", "avant de continuer",
	"antes de continuar", "prima di continuare", "voordat je verdergaat", "voordat je doorgaat", "innan du fortsätter",
	"zanim przejdziesz", "прежде чем продолжить",
}

// consent names the wall of consent that stands in place of the page, or is empty.
func (a *answer) consent() string {
	first, _, _ := strings.Cut(a.from.host, ".")
	if slices.Contains(consentHosts, first) || slices.Contains(consentSites, a.from.host) {
		return "a wall of consent at " + a.from.host
	}
	v := a.view()
	if !v.html || v.own > 2*thin {
		return ""
	}
	title := fold(v.title)
	for _, begin := range consentTitles {
		if strings.HasPrefix(title+" ", fold(begin)+" ") {
			return "a wall of consent: " + v.title
		}
	}
	return ""
}
