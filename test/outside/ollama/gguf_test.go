package ollama

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// gguf writes a model file: what is told of the model, then its tensors. All
// numbers are little-endian, all tensors of 32-bit floats.
type gguf struct {
	facts, index, data bytes.Buffer
	nfacts, ntensors   uint64
}

// Types of values in such a file.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeString  = 8
	typeArray   = 9
)

const alignment = 32

func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			put(b, uint64(len(text)), []byte(text))
			continue
		}
		if err := binary.Write(b, binary.LittleEndian, v); err != nil {
			panic(err) // of values of fixed size
		}
	}
}

func (g *gguf) fact(name string, value any) {
	g.nfacts++
	put(&g.facts, name)
	switch v := value.(type) {
	case uint32:
		put(&g.facts, uint32(typeUint32), v)
	case float32:
		put(&g.facts, uint32(typeFloat32), v)
	case string:
		put(&g.facts, uint32(typeString), v)
	case []string:
		put(&g.facts, uint32(typeArray), uint32(typeString), uint64(len(v)))
		for _, text := range v {
			put(&g.facts, text)
		}
	case []float32:
		put(&g.facts, uint32(typeArray), uint32(typeFloat32), uint64(len(v)), v)
	case []int32:
		put(&g.facts, uint32(typeArray), uint32(typeInt32), uint64(len(v)), v)
	default:
		panic(fmt.Sprintf("%s: no type for %T", name, value))
	}
}

// tensor adds one of rows of a width; one row is a vector.
func (g *gguf) tensor(name string, width, rows int, values []float32) {
	g.ntensors++
	put(&g.index, name)
	if rows == 1 {
		put(&g.index, uint32(1), uint64(width))
	} else {
		put(&g.index, uint32(2), uint64(width), uint64(rows))
	}
	put(&g.index, uint32(0), uint64(g.data.Len()))
	put(&g.data, values, make([]byte, (alignment-g.data.Len()%alignment)%alignment))
}

func (g *gguf) write(t *testing.T, path string) {
	t.Helper()
	var b bytes.Buffer
	put(&b, []byte("GGUF"), uint32(3), g.ntensors, g.nfacts, g.facts.Bytes(), g.index.Bytes())
	put(&b, make([]byte, (alignment-b.Len()%alignment)%alignment), g.data.Bytes())
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Kinds of tokens.
const (
	kindNormal  = 1
	kindUnknown = 2
	kindControl = 3
	kindByte    = 6
)

// vocabulary is what a model can write: each byte, the marks of a conversation,
// and pieces of text.
type vocabulary struct {
	tokens []string
	kinds  []int32
}

func (v *vocabulary) add(kind int32, text string) int {
	v.tokens, v.kinds = append(v.tokens, text), append(v.kinds, kind)
	return len(v.tokens) - 1
}

func newVocabulary() (v *vocabulary, end, assistant int) {
	v = &vocabulary{}
	v.add(kindUnknown, "<unk>")
	v.add(kindControl, "<s>")
	end = v.add(kindControl, "</s>")
	for b := range 256 {
		v.add(kindByte, fmt.Sprintf("<0x%02X>", b))
	}
	v.add(kindControl, "<|user|>")
	assistant = v.add(kindControl, "<|assistant|>")
	return v, end, assistant
}

// llama is a model of one block: what the last token is decides the next one,
// since the block adds nothing, each token is an axis of its own, and the matrix
// of the output is a table of what follows what.
func llama(v *vocabulary, width int, embedding, output func(token, at int) float32) *gguf {
	g := &gguf{}
	g.fact("general.architecture", "llama")
	g.fact("general.name", "penstock test")
	g.fact("llama.context_length", uint32(4096))
	g.fact("llama.embedding_length", uint32(width))
	g.fact("llama.block_count", uint32(1))
	g.fact("llama.feed_forward_length", uint32(32))
	g.fact("llama.attention.head_count", uint32(width/32))
	g.fact("llama.attention.head_count_kv", uint32(width/32))
	g.fact("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	g.fact("llama.rope.dimension_count", uint32(32))
	g.fact("tokenizer.ggml.model", "llama")
	g.fact("tokenizer.ggml.tokens", v.tokens)
	g.fact("tokenizer.ggml.scores", make([]float32, len(v.tokens)))
	g.fact("tokenizer.ggml.token_type", v.kinds)
	g.fact("tokenizer.ggml.unknown_token_id", uint32(0))
	g.fact("tokenizer.ggml.bos_token_id", uint32(1))
	g.fact("tokenizer.ggml.eos_token_id", uint32(2))
	table := func(value func(token, at int) float32) []float32 {
		values := make([]float32, 0, width*len(v.tokens))
		for token := range v.tokens {
			for at := range width {
				values = append(values, value(token, at))
			}
		}
		return values
	}
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	zeros := func(width, rows int) []float32 { return make([]float32, width*rows) }
	g.tensor("token_embd.weight", width, len(v.tokens), table(embedding))
	g.tensor("output_norm.weight", width, 1, ones)
	g.tensor("output.weight", width, len(v.tokens), table(output))
	g.tensor("blk.0.attn_norm.weight", width, 1, ones)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		g.tensor("blk.0."+name+".weight", width, width, zeros(width, width))
	}
	g.tensor("blk.0.ffn_norm.weight", width, 1, ones)
	g.tensor("blk.0.ffn_gate.weight", width, 32, zeros(width, 32))
	g.tensor("blk.0.ffn_up.weight", width, 32, zeros(width, 32))
	g.tensor("blk.0.ffn_down.weight", 32, width, zeros(32, width))
	return g
}

// chain is a model that writes these pieces, one after the other, and ends. Where
// there are several in one place, they are as likely as each other but for the
// first, which is a little more so.
func chain(pieces ...[]string) *gguf {
	v, end, last := newVocabulary()
	follows := map[[2]int]float32{} // from a token to the next
	froms := []int{last}
	for _, place := range pieces {
		var tokens []int
		for i, text := range place {
			token := v.add(kindNormal, strings.ReplaceAll(text, " ", "▁"))
			tokens = append(tokens, token)
			for _, from := range froms {
				follows[[2]int{from, token}] = 1
				if i > 0 {
					follows[[2]int{from, token}] = .999
				}
			}
		}
		froms = tokens
	}
	for _, from := range froms {
		follows[[2]int{from, end}] = 1
	}
	width := (len(v.tokens) + 31) / 32 * 32
	axis := func(token, at int) float32 {
		if token == at {
			return 1
		}
		return 0
	}
	return llama(v, width, axis, func(token, at int) float32 { return follows[[2]int{at, token}] * 2 })
}

// noise is a model that writes whatever it may.
func noise() *gguf {
	v, _, _ := newVocabulary()
	for c := ' '; c <= '~'; c++ {
		v.add(kindNormal, strings.ReplaceAll(string(c), " ", "▁"))
	}
	draw := rand.New(rand.NewPCG(1, 2))
	value := func(int, int) float32 { return float32(draw.NormFloat64()) }
	return llama(v, 64, value, value)
}
