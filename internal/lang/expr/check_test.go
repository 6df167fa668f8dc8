package expr

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestDiagnostics holds every complaint to its words and its place.
func TestDiagnostics(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      Want
		diags     string
	}{
		{"misspelt attribute", `item.caat == "music"`, WantBool, `1,6-10: Unknown attribute: item has no attribute "caat". Did you mean "cat"?`},
		{"misspelt attribute, far", `artifact.verifier.sources[*].urk`, WantList, `1,30-33: Unknown attribute: artifact.verifier.sources[*] has no attribute "urk". Did you mean "url"? There are "quote" and "url".`},
		{"misspelt attribute in for", `[for s in artifact.verifier.sources : s.ulr]`, WantList, `1,41-44: Unknown attribute: s has no attribute "ulr". Did you mean "url"? There are "quote" and "url".`},
		{"misspelt attribute of a local", `local.mmee`, WantAny, `1,7-11: Unknown name: There is no local.mmee. Did you mean "mme"? There are "empty", "limit" and "mme".`},
		{"misspelt attribute in get", `get(item, "catt", "x")`, WantText, `1,11-17: Unknown attribute: item has no attribute "catt". Did you mean "cat"?`},
		{"misspelt name", `itm.cat`, WantText, `1,1-4: Unknown name: There is no "itm" that can be read here. Did you mean "item"?`},
		{"misspelt member", `artifact.verfier.p`, WantNumber, `1,10-17: Unknown name: There is no artifact.verfier that can be read here. Did you mean "verifier"? There are "repairer" and "verifier".`},
		{"root alone", `artifact`, WantDocument, `1,1-9: Unknown name: artifact is no value by itself: write artifact.NAME. There are "repairer" and "verifier".`},
		{"elsewhere", `output.status`, WantText, `1,1-7: Name not readable here: output can be read in its own stage and in that stage's routes.`},
		{"elsewhere, a member", `artifact.late.q`, WantText, `1,10-14: Name not readable here: artifact.late is visited only after this place.`},
		{"misspelt function", `lenght(item.w)`, WantNumber, `1,1-7: Unknown function: There is no function "lenght". Did you mean "length"? ` + "`penstock functions` lists all of them."},
		{"try", `try(item.x, 1)`, WantNumber, `1,1-4: Unknown function: There is no try: it would hide a misspelt name. Where an attribute may be absent, write get(OBJECT, "a.b", DEFAULT); where a value may be null, x == null ? … : x.`},
		{"can", `can(item.x)`, WantBool, `1,1-4: Unknown function: There is no can: it would hide a misspelt name. Where an attribute may be absent, write get(OBJECT, "a.b", DEFAULT); where a value may be null, x == null ? … : x.`},
		{"impure", `timestamp()`, WantText, `1,1-10: Unknown function: There is no timestamp: a function gives the same for the same arguments, or nothing could be answered from staging. The time of a run is run.started_at, where run can be read.`},
		{"strlen", `strlen(item.q)`, WantNumber, `1,1-7: Unknown function: There is no strlen. The number of characters is runes(…), of words words(…), of elements length(…).`},
		{"too few arguments", `substr(item.q, 1)`, WantText, `1,1-18: Wrong type: substr takes 3 arguments, and here are 2: substr(str, offset, length).`},
		{"argument that does not fit", `contains_phrase(item.q, item.w)`, WantBool, `1,25-31: Wrong type: The argument "phrase" of contains_phrase does not fit: a text is needed, and this is a list of texts.`},
		{"argument that does not fit, object", `upper(artifact.repairer)`, WantText, `1,7-24: Wrong type: The argument "str" of upper does not fit: a text is needed, and this is an object.`},
		{"argument that does not fit, list", `length(item.n)`, WantNumber, `1,8-14: Wrong type: length cannot take this: a list or an object is needed, and this is a number.`},
		{"unguarded", `artifact.repairer.q == "x"`, WantBool, `1,19-20: Value may be null: artifact.repairer may be null here, so artifact.repairer.q cannot be read unguarded. Write artifact.repairer != null && …, artifact.repairer == null ? … : …, or get(artifact.repairer, "q", DEFAULT).`},
		{"guarded the wrong way", `artifact.repairer == null && artifact.repairer.q == "x"`, WantBool, `1,48-49: Value may be null: artifact.repairer may be null here, so artifact.repairer.q cannot be read unguarded. Write artifact.repairer != null && …, artifact.repairer == null ? … : …, or get(artifact.repairer, "q", DEFAULT).`},
		{"guarded on one side of or", `(item.ok || artifact.repairer != null) && artifact.repairer.ok`, WantBool, `1,61-63: Value may be null: artifact.repairer may be null here, so artifact.repairer.ok cannot be read unguarded. Write artifact.repairer != null && …, artifact.repairer == null ? … : …, or get(artifact.repairer, "ok", DEFAULT).`},
		{"unguarded splat", `artifact.repairer.w[*]`, WantList, `1,19-20: Value may be null: artifact.repairer may be null here, so artifact.repairer.w cannot be read unguarded. Write artifact.repairer != null && …, artifact.repairer == null ? … : …, or get(artifact.repairer, "w", DEFAULT).`},
		{"never equal, kinds", `item.q == 5`, WantBool, `1,1-12: Comparison that never holds: item.q is a text and the right side is a number: they are never equal. Nothing is converted to compare it.`},
		{"never equal, word", `artifact.verifier.status == "acept"`, WantBool, `1,29-36: Comparison that never holds: artifact.verifier.status is never "acept". Did you mean "accept"? There are "accept", "reject" and "repair".`},
		{"never equal, word first", `"film" != item.cat`, WantBool, `1,1-7: Comparison that never holds: item.cat is never "film". There are "film-tv", "history" and "music".`},
		{"never equal, enums", `outcome.verifier == item.cat`, WantBool, `1,1-29: Comparison that never holds: outcome.verifier is one of "accept", "repair" and item.cat is one of "music", "history", "film-tv": they are never equal.`},
		{"never among them", `contains(["musik", "film_tv"], item.cat)`, WantBool, `1,1-41: Comparison that never holds: The list is of "musik", "film_tv", and item.cat is one of "music", "history", "film-tv": it is never among them.`},
		{"never among them, kinds", `contains([1, 2], item.cat)`, WantBool, `1,1-27: Comparison that never holds: The list is of 1, 2, and item.cat is one of "music", "history", "film-tv": it is never among them.`},
		{"if is a text", `item.q`, WantBool, `1,1-7: Wrong type: A bool is needed here, and this is a text. Nothing is converted to a bool; compare it with something.`},
		{"if is a number", `item.n`, WantBool, `1,1-7: Wrong type: A bool is needed here, and this is a number. Nothing is converted to a bool; compare it with something.`},
		{"not of a text", `!item.q`, WantBool, `1,2-8: Wrong type: ! takes a bool, and this is a text. Nothing is converted to a bool; compare it with something.`},
		{"and of a text", `item.ok && item.cat`, WantBool, `1,12-20: Wrong type: && takes a bool on each side, and this is a text. Nothing is converted to a bool; compare it with something.`},
		{"condition of a conditional", `item.n ? 1 : 2`, WantNumber, `1,1-7: Wrong type: A condition must be a bool, and this is a number. Nothing is converted to a bool; compare it with something.`},
		{"order of texts", `item.q > 3`, WantBool, `1,1-7: Wrong type: A number is needed here, and this is a text. A text is made a number by tonumber(…) or number_or(…, DEFAULT).`},
		{"arithmetic on a list", `item.w + 1`, WantNumber, `1,1-7: Wrong type: A number is needed here, and this is a list of texts. How many elements it has is length(…).`},
		{"text wanted", `item.n`, WantText, `1,1-7: Wrong type: A text is needed here, and this is a number. Write it inside a template: "${…}".`},
		{"text wanted, list", `item.w`, WantText, `1,1-7: Wrong type: A text is needed here, and this is a list of texts.`},
		{"text wanted, a side", `item.ok ? item.q : item.n`, WantText, `1,20-26: Wrong type: A text is needed here, and this is a number. Write it inside a template: "${…}".`},
		{"texts wanted", `[item.n]`, WantTexts, `1,1-9: Wrong type: A list of texts is needed here, and this is a list of numbers.`},
		{"addresses wanted", `[item.n]`, WantAddresses, `1,1-9: Wrong type: A list of texts is needed here, and this is a list of numbers.`},
		{"list in a template", `"a ${item.w}"`, WantText, `1,6-12: Wrong type: A list cannot stand in a text, and this is a list of texts. Write join(", ", …), or jsonencode(…).`},
		{"object in a template", `"a ${item}"`, WantText, `1,6-10: Wrong type: An object cannot stand in a text, and this is an object. Name one of its attributes, or write jsonencode(…).`},
		{"attribute of a list", `item.w.x`, WantAny, `1,8-9: Wrong type: item.w is a list, which has no attribute "x". One element is item.w[0].x, all are item.w[*].x.`},
		{"index of an object", `item[0]`, WantAny, `1,5-8: Wrong type: item is an object, which has attributes and no element 0.`},
		{"attribute of a text", `item.q.x`, WantAny, `1,8-9: Wrong type: item.q is a text, so item.q.x cannot be read.`},
		{"splat of an object", `item[*].q`, WantAny, `1,1-5: Wrong type: A list is needed here, and this is an object.`},
		{"negative index", `item.w[-1]`, WantAny, `1,8-10: Wrong type: An index is a text or a whole number from 0, and this is -1.`},
		{"sensitive", `"key ${var.secret}"`, WantText, `1,1-20: Sensitive value: This value is sensitive. It reaches a provider's configuration and nothing else: it may stand in no document, prompt, record or condition.`},
		{"sensitive in a document", `{ a = item.q, b = var.secret }`, WantDocument, `1,19-29: Sensitive value: This value is sensitive. It reaches a provider's configuration and nothing else: it may stand in no document, prompt, record or condition.`},
		{"duplicate key", `{ a = 1, b = 2, a = 3 }`, WantDocument, `1,17-18: Duplicate key: The key "a" stands in this object a second time. Remove one of the two.`},
		{"key with dots", `{ a.b = 1 }`, WantDocument, `1,3-6: Expression not supported: A key with dots is a reference in parentheses, (a.b), or a text in quotes, "a.b". Write which is meant.`},
		{"let of itself", `loop`, WantAny, `1,1-5: Unknown name: The let "loop" is defined by itself: loop → loop.`},
		{"division by zero", `1 / 0`, WantNumber, `1,1-6: Expression failed: The number is infinite; a division by zero gives that. Compare the divisor with 0 first.`},
		{"a constant that fails", `tonumber("x")`, WantNumber, `1,10-13: Function failed: tonumber: cannot convert "x" to number; given string must be a decimal representation of a number.`},
		{"a pattern that is none", `regex("(", item.q)`, WantText, `1,7-10: Wrong type: regex cannot take this: invalid regexp pattern: missing closing ) in (. Patterns are those of RE2, which has no look-ahead, no look-behind and no back-references.`},
		{"no file", `file("none.txt")`, WantText, `1,6-16: Function failed: file: there is no file "none.txt"; paths are relative to the pipeline's directory.`},
		{"a way out", `file("../x")`, WantText, `1,6-12: Function failed: file: "../x" is not a path inside the pipeline's directory; paths are relative to it and have no "..".`},
		{"an integer that no double holds", `9007199254740993`, WantNumber, `1,1-17: Wrong type: This cannot stand in a document: the integer 9007199254740993 cannot be held exactly by a double; make it a text with format("%d", …).`},
		{"loops in loops", `[for a in range(1024) : [for b in range(1024) : [for c in range(1024) : a]]]`, WantList, `1,25-76: Expression failed: The loops of this expression go round, or what they make is large, more than 131072 times. Compute it in a program, and read the result with file and jsondecode, or with a source.`},
		{"loops in loops of a template", `"%{ for a in range(1024) }%{ for b in range(1024) }%{ for c in range(1024) }x%{ endfor }%{ endfor }%{ endfor }"`, WantText, `1,2-111: Expression failed: The loops of this expression go round, or what they make is large, more than 131072 times. Compute it in a program, and read the result with file and jsondecode, or with a source.`},
		{"too many products", `setproduct(range(1024), range(1024))`, WantList, `1,1-12: Function failed: setproduct: the result would be too large.`},
		{"too much indented", `indent(20000000, "a\nb")`, WantText, `1,1-8: Function failed: indent: the result would be too large.`},
		{"a secret that a function would quote", `tonumber(var.secret)`, WantNumber, `1,10-20: Function failed: It fails on a sensitive value, so what it says of it is not printed.`},
		{"never equal, an object", `item == "x"`, WantBool, `1,1-12: Comparison that never holds: item is an object and the right side is a text: they are never equal. Nothing is converted to compare it.`},
		{"two mistakes", `item.caat == "x" && item.ook`, WantBool, `1,6-10: Unknown attribute: item has no attribute "caat". Did you mean "cat"?
1,26-29: Unknown attribute: item has no attribute "ook". Did you mean "ok"?`},
		{"one mistake, once", `length(item.caat) > 1`, WantBool, `1,13-17: Unknown attribute: item has no attribute "caat". Did you mean "cat"?`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, diags := Compile(parse(tt.src), cardEnv(), tt.want)
			if got := complaints(diags); got != tt.diags {
				t.Errorf("%s\n%s", tt.src, got)
			}
		})
	}
}

// TestATextIsNotPutIntoItselfForEver holds a chain of locals, each twice the
// one before, to a size that a document could have.
func TestATextIsNotPutIntoItselfForEver(t *testing.T) {
	env := cardEnv()
	env.Consts["local"] = cty.ObjectVal(map[string]cty.Value{"big": cty.StringVal(strings.Repeat("x", maxSize*16*2/3))})
	want := "1,1-27: Wrong type: This text is too large. " + moveOut + "."
	_, diags := Compile(parse(`"${local.big}${local.big}"`), env, WantText)
	if got := complaints(diags); got != want {
		t.Error(got)
	}
}
