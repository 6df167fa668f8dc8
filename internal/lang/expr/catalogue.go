package expr

import (
	"slices"
	"strings"

	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// catalogue lists the functions. cty's standard library stands under the names
// that Terraform made known, less the functions behind the operators, less
// bytes, which no document has, and less strlen, which counts neither
// characters nor words as people do.
func catalogue() []entry {
	return slices.Concat(numberFunctions(), textFunctions(), listFunctions(), objectFunctions(), dataFunctions(), matchFunctions())
}

func sorted(entries []entry) []entry {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries
}

func numberFunctions() []entry {
	return []entry{
		{name: "abs", description: "The number without its sign.", example: `abs(-2.5)`, result: `2.5`, f: stdlib.AbsoluteFunc},
		{name: "ceil", description: "The smallest whole number that is not below the number.", example: `ceil(1.2)`, result: `2`, f: stdlib.CeilFunc},
		{name: "clamp", description: "The number, or the nearer bound where it lies outside.", example: `clamp(9, 1, 5)`, result: `5`, f: clampFunc},
		{name: "floor", description: "The greatest whole number that is not above the number.", example: `floor(1.8)`, result: `1`, f: stdlib.FloorFunc},
		{name: "int", description: "The number without its fraction.", example: `int(-1.8)`, result: `-1`, f: stdlib.IntFunc},
		{name: "log", description: "The logarithm of a number to a base.", example: `log(8, 2)`, result: `3`, f: stdlib.LogFunc},
		{name: "max", description: "The greatest of the numbers.", example: `max(1, 3, 2)`, result: `3`, f: stdlib.MaxFunc},
		{name: "min", description: "The smallest of the numbers.", example: `min(1, 3, 2)`, result: `1`, f: stdlib.MinFunc},
		{name: "number_or", description: "The number that a text spells as JSON does, or the default where it spells none.", example: `number_or("n/a", 0)`, result: `0`, f: numberOrFunc},
		{name: "parseint", description: "The whole number that a text spells in a base from 2 to 62.", example: `parseint("ff", 16)`, result: `255`, f: stdlib.ParseIntFunc},
		{name: "pow", description: "A number raised to a power.", example: `pow(2, 10)`, result: `1024`, f: stdlib.PowFunc},
		{name: "signum", description: "-1, 0 or 1, by the sign of the number.", example: `signum(-3)`, result: `-1`, f: stdlib.SignumFunc},
		{name: "sum", description: "The sum of a list of numbers; of an empty list 0.", example: `sum([1, 2.5])`, result: `3.5`, f: sumFunc},
		{name: "tonumber", description: "The number that a text spells; an error where it spells none.", example: `tonumber("1.5")`, result: `1.5`, f: stdlib.MakeToFunc(cty.Number)},
	}
}

func textFunctions() []entry {
	return []entry{
		{name: "chomp", description: "The text less the line breaks at its end.", example: `chomp("a\n")`, result: `"a"`, f: stdlib.ChompFunc},
		{name: "contains_phrase", description: "Whether the words of a phrase stand in a text as a run of whole words, both in normal form.", example: `contains_phrase("It is New York.", "new york")`, result: `true`, f: containsPhraseFunc},
		{name: "fingerprint", description: "The SHA-256 of the normal form of a text, in hex.", example: `fingerprint("Who?") == fingerprint("who")`, result: `true`, f: fingerprintFunc},
		{name: "format", description: "A text by a pattern with verbs such as %s, %d, %q and %05.1f.", example: `format("%s-%03d", "a", 7)`, result: `"a-007"`, f: stdlib.FormatFunc},
		{name: "formatlist", description: "A list of texts by a pattern, one for each element of the lists.", example: `formatlist("%s!", ["a", "b"])`, result: `["a!","b!"]`, f: stdlib.FormatListFunc},
		{name: "indent", description: "The text with spaces before each line but the first.", example: `indent(2, "a\nb")`, result: `"a\n  b"`, f: indentFunc},
		{name: "join", description: "The texts of lists as one, with a separator between them.", example: `join(", ", ["a", "b"])`, result: `"a, b"`, f: stdlib.JoinFunc},
		{name: "levenshtein", description: "How many characters must be inserted, deleted or replaced to make one text the other.", example: `levenshtein("kitten", "sitting")`, result: `3`, f: levenshteinFunc},
		{name: "lower", description: "The text in small letters.", example: `lower("Bach")`, result: `"bach"`, f: stdlib.LowerFunc},
		{name: "normalize", description: "The normal form of a text: small letters and digits, without accents and signs, words by one space.", example: `normalize("  Händel:  Messiah! ")`, result: `"handel messiah"`, f: normalizeFunc},
		{name: "regex", description: "What a pattern (RE2) matches first: the whole match, or its groups as a list or by name.", example: `regex("[0-9]+", "in 1685 and 1750")`, result: `"1685"`, f: stdlib.RegexFunc},
		{name: "regexall", description: "Everything that a pattern (RE2) matches, as a list.", example: `regexall("[0-9]+", "in 1685 and 1750")`, result: `["1685","1750"]`, f: stdlib.RegexAllFunc},
		{name: "regexreplace", description: "The text with every match of a pattern (RE2) replaced; $1 is the first group.", example: `regexreplace("a1b2", "[0-9]", "-")`, result: `"a-b-"`, f: stdlib.RegexReplaceFunc},
		{name: "replace", description: "The text with every occurrence of a part replaced.", example: `replace("a.b.c", ".", "/")`, result: `"a/b/c"`, f: stdlib.ReplaceFunc},
		{name: "runes", description: "How many characters (Unicode code points) a text has.", example: `runes("Bäch")`, result: `4`, f: runesFunc},
		{name: "split", description: "The parts of a text between separators.", example: `split("/", "a/b")`, result: `["a","b"]`, f: stdlib.SplitFunc},
		{name: "strrev", description: "The characters of a text in reverse.", example: `strrev("abc")`, result: `"cba"`, f: stdlib.ReverseFunc},
		{name: "substr", description: "A part of a text: from an offset, so many characters long; -1: to the end.", example: `substr("abcdef", 1, 3)`, result: `"bcd"`, f: stdlib.SubstrFunc},
		{name: "title", description: "The text with the first letter of each word made great.", example: `title("the art of fugue")`, result: `"The Art Of Fugue"`, f: stdlib.TitleFunc},
		{name: "tokens", description: "The words of the normal form of a text, as a list.", example: `tokens("Who wrote it?")`, result: `["who","wrote","it"]`, f: tokensFunc},
		{name: "tostring", description: "A number or a bool as a text.", example: `tostring(1.5)`, result: `"1.5"`, f: stdlib.MakeToFunc(cty.String)},
		{name: "trim", description: "The text less any of the given characters at its ends.", example: `trim("?!a!?", "!?")`, result: `"a"`, f: stdlib.TrimFunc},
		{name: "trimprefix", description: "The text less a prefix, where it has it.", example: `trimprefix("re: a", "re: ")`, result: `"a"`, f: stdlib.TrimPrefixFunc},
		{name: "trimspace", description: "The text less the white space at its ends.", example: `trimspace("  a \n")`, result: `"a"`, f: stdlib.TrimSpaceFunc},
		{name: "trimsuffix", description: "The text less a suffix, where it has it.", example: `trimsuffix("a.md", ".md")`, result: `"a"`, f: stdlib.TrimSuffixFunc},
		{name: "upper", description: "The text in capitals.", example: `upper("Bach")`, result: `"BACH"`, f: stdlib.UpperFunc},
		{name: "words", description: "How many words a text has: fields between white space that hold a letter or a digit.", example: `words("Well - it is.")`, result: `3`, f: wordsFunc},
	}
}

func listFunctions() []entry {
	return []entry{
		{name: "all", description: "Whether every bool of a list is true; of an empty list true.", example: `all([true, false])`, result: `false`, f: allFunc},
		{name: "any", description: "Whether a bool of a list is true; of an empty list false.", example: `any([true, false])`, result: `true`, f: anyFunc},
		{name: "chunklist", description: "The list in pieces of a size.", example: `chunklist(["a", "b", "c"], 2)`, result: `[["a","b"],["c"]]`, f: stdlib.ChunklistFunc},
		{name: "coalesce", description: "The first argument that is not null.", example: `coalesce(null, "b")`, result: `"b"`, f: stdlib.CoalesceFunc},
		{name: "coalescelist", description: "The first list that has an element.", example: `coalescelist([], ["b"])`, result: `["b"]`, f: stdlib.CoalesceListFunc},
		{name: "compact", description: "The list of texts less those that are empty or null.", example: `compact(["a", "", "b"])`, result: `["a","b"]`, f: stdlib.CompactFunc},
		{name: "concat", description: "The lists one after the other as one.", example: `concat(["a"], ["b"])`, result: `["a","b"]`, f: stdlib.ConcatFunc},
		{name: "contains", description: "Whether a list has a value among its elements.", example: `contains(["a", "b"], "b")`, result: `true`, f: containsFunc},
		{name: "distinct", description: "The list less what stands in it before.", example: `distinct(["a", "b", "a"])`, result: `["a","b"]`, f: stdlib.DistinctFunc},
		{name: "element", description: "The element at an index, counted round where the list ends.", example: `element(["a", "b"], 2)`, result: `"a"`, f: stdlib.ElementFunc},
		{name: "flatten", description: "The list with the elements of lists in it in their place.", example: `flatten([["a"], ["b", ["c"]]])`, result: `["a","b","c"]`, f: stdlib.FlattenFunc},
		{name: "length", description: "How many elements a list or an object has.", example: `length(["a", "b"])`, result: `2`, f: lengthFunc},
		{name: "range", description: "The numbers from a start up to a limit, by a step.", example: `range(1, 4)`, result: `[1,2,3]`, f: stdlib.RangeFunc},
		{name: "reverse", description: "The list in reverse.", example: `reverse(["a", "b"])`, result: `["b","a"]`, f: stdlib.ReverseListFunc},
		{name: "sethaselement", description: "Whether a set has a value.", example: `sethaselement(["a"], "a")`, result: `true`, f: stdlib.SetHasElementFunc},
		{name: "setintersection", description: "What all of the lists have, each once, sorted.", example: `setintersection(["q", "w"], ["w", "x"])`, result: `["w"]`, f: stdlib.SetIntersectionFunc},
		{name: "setproduct", description: "Every way to take one element of each list.", example: `setproduct(["a"], ["x", "y"])`, result: `[["a","x"],["a","y"]]`, f: setProductFunc},
		{name: "setsubtract", description: "What the first list has and the second has not, each once, sorted.", example: `setsubtract(["a", "b"], ["b"])`, result: `["a"]`, f: stdlib.SetSubtractFunc},
		{name: "setsymmetricdifference", description: "What exactly one of two lists has, each once, sorted.", example: `setsymmetricdifference(["a", "b"], ["b", "c"])`, result: `["a","c"]`, f: stdlib.SetSymmetricDifferenceFunc},
		{name: "setunion", description: "What any of the lists has, each once, sorted.", example: `setunion(["b"], ["a", "b"])`, result: `["a","b"]`, f: stdlib.SetUnionFunc},
		{name: "slice", description: "The elements from an index up to, not with, another.", example: `slice(["a", "b", "c"], 1, 3)`, result: `["b","c"]`, f: stdlib.SliceFunc},
		{name: "sort", description: "The texts of a list in the order of their characters.", example: `sort(["b", "a"])`, result: `["a","b"]`, f: stdlib.SortFunc},
		{name: "tolist", description: "A set as a list, or a list with all elements of one type.", example: `tolist(["a", "b"])`, result: `["a","b"]`, f: stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType))},
		{name: "toset", description: "The elements of a list, each once, sorted.", example: `toset(["b", "a", "b"])`, result: `["a","b"]`, f: stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType))},
	}
}

func objectFunctions() []entry {
	return []entry{
		{name: "get", description: "The value at a path of names and indexes in an object, or the default where it is absent or null.", example: `get({ a = { b = 1 } }, "a.c", 0)`, result: `0`, f: getFunc},
		{name: "hasindex", description: "Whether a list or an object has an index or a name.", example: `hasindex(["a"], 1)`, result: `false`, f: stdlib.HasIndexFunc},
		{name: "index", description: "The element of a list or an object at an index or a name.", example: `index(["a", "b"], 1)`, result: `"b"`, f: stdlib.IndexFunc},
		{name: "keys", description: "The names of an object, sorted.", example: `keys({ b = 1, a = 2 })`, result: `["a","b"]`, f: stdlib.KeysFunc},
		{name: "lookup", description: "The value of a name in an object, or the default where it is absent.", example: `lookup({ a = 1 }, "b", 0)`, result: `0`, f: stdlib.LookupFunc},
		{name: "merge", description: "The objects as one; of a name that several have, the last counts.", example: `merge({ a = 1 }, { b = 2 })`, result: `{"a":1,"b":2}`, f: stdlib.MergeFunc},
		{name: "tobool", description: "The bool that a text spells.", example: `tobool("true")`, result: `true`, f: stdlib.MakeToFunc(cty.Bool)},
		{name: "tomap", description: "An object with all values of one type.", example: `tomap({ a = 1 })`, result: `{"a":1}`, f: stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType))},
		{name: "values", description: "The values of an object, in the order of its names.", example: `values({ b = 1, a = 2 })`, result: `[2,1]`, f: stdlib.ValuesFunc},
		{name: "zipmap", description: "An object of a list of names and a list of values.", example: `zipmap(["a", "b"], [1, 2])`, result: `{"a":1,"b":2}`, f: stdlib.ZipmapFunc},
	}
}

func dataFunctions() []entry {
	return []entry{
		{name: "csvdecode", description: "The rows of a text in CSV, as objects by the names in its first line.", example: `csvdecode("a,b\n1,2\n")`, result: `[{"a":"1","b":"2"}]`, f: stdlib.CSVDecodeFunc},
		{name: "digest", description: "The SHA-256 of a value as a canonical JSON document, in hex.", example: `substr(digest({ a = 1 }), 0, 12)`, result: `"015abd7f5cc5"`, f: digestFunc},
		{name: "file", description: "The text of a file, by its path from the pipeline's directory.", example: `file("greeting.txt")`, result: `"hello"`, make: fileFunc},
		{name: "formatdate", description: "A time in RFC 3339 form, written by a pattern.", example: `formatdate("YYYY-MM-DD", "2026-01-15T10:15:00Z")`, result: `"2026-01-15"`, f: stdlib.FormatDateFunc},
		{name: "jsondecode", description: "The value that a strict JSON text spells.", example: `jsondecode("{\"a\": [1]}")`, result: `{"a":[1]}`, f: jsonDecodeFunc},
		{name: "jsonencode", description: "A value as JSON in canonical form.", example: `jsonencode({ b = [1], a = "x" })`, result: `"{\"a\":\"x\",\"b\":[1]}"`, f: jsonEncodeFunc},
		{name: "match_schema", description: "Whether a value fits the JSON Schema (2020-12) in a file.", example: `match_schema({ a = 1 }, "point.json")`, result: `true`, make: matchSchemaFunc},
		{name: "sha256", description: "The SHA-256 of a text, in hex.", example: `substr(sha256("hello"), 0, 12)`, result: `"2cf24dba5fb0"`, f: sha256Func},
		{name: "timeadd", description: "A time in RFC 3339 form with a duration added.", example: `timeadd("2026-01-15T10:15:00Z", "24h")`, result: `"2026-01-16T10:15:00Z"`, f: stdlib.TimeAddFunc},
		{name: "yamldecode", description: "The value that a text in YAML spells.", example: `yamldecode("a: [1, two]")`, result: `{"a":[1,"two"]}`, f: ctyyaml.YAMLDecodeFunc},
		{name: "yamlencode", description: "A value in YAML.", example: `yamlencode(["a"])`, result: `"- \"a\"\n"`, f: ctyyaml.YAMLEncodeFunc},
	}
}

func matchFunctions() []entry {
	return []entry{
		{name: "glob_match", description: "Whether a path matches a pattern, or one of a list: * and ? within a name, ** over names.", example: `glob_match(["docs/**/*.md"], "docs/a/b.md")`, result: `true`, f: globMatchFunc},
		{name: "jaccard", description: "How much two texts, or two lists of words, share: common words by all words, from 0 to 1.", example: `jaccard("a b c", "b c d")`, result: `0.5`, f: jaccardFunc},
		{name: "registrable_domain", description: "The domain of a URL that somebody registered, by the Public Suffix List.", example: `registrable_domain("https://www.bbc.co.uk/news")`, result: `"bbc.co.uk"`, f: registrableDomainFunc},
		{name: "url_key", description: "A URL in the one form in which two addresses of a page are compared.", example: `url_key("HTTP://Example.com:80/a#b") == url_key("http://example.com/a")`, result: `true`, f: urlKeyFunc},
	}
}

var templateFileEntry = entry{name: "templatefile", description: "The text of a file with its ${…} filled in from an object.", example: `templatefile("greeting.tmpl", { name = "Ann" })`, result: `"Hello, Ann!"`}
