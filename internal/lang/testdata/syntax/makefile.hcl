all: out.jsonl

out.jsonl: in.jsonl
	python3 make.py $< > $@
