package dag

import "github.com/go-json-experiment/json"

// WholeConfig is a configuration as its plugin gets it: with what belongs to no action,
// and with the sensitive values, by their paths. It is made for the only process that
// may see them, and for a bundled provider to say what it will not take.
func WholeConfig(config, unkeyed Doc, secrets map[string]string) ([]byte, error) {
	members := map[string]any{}
	for _, doc := range []Doc{config, unkeyed} {
		var some map[string]any
		if len(doc.Bytes) == 0 {
			continue
		}
		if err := json.Unmarshal(doc.Bytes, &some); err != nil {
			return nil, err
		}
		mergeMembers(members, some)
	}
	for path, secret := range secrets {
		putMember(members, path, secret)
	}
	return json.Marshal(members, json.Deterministic(true))
}

// mergeMembers adds members to an object. A block of which a part stands in each is one.
func mergeMembers(object, more map[string]any) {
	for name, value := range more {
		inner, isObject := value.(map[string]any)
		if there, ok := object[name].(map[string]any); ok && isObject {
			mergeMembers(there, inner)
		} else {
			object[name] = value
		}
	}
}

// putMember sets a member by its path. Objects along it are there, since they stay
// when what is secret is taken out of them; a point elsewhere belongs to a name.
func putMember(object map[string]any, path, secret string) {
	for i := range path {
		if inner, ok := object[path[:i]].(map[string]any); ok && path[i] == '.' {
			putMember(inner, path[i+1:], secret)
			return
		}
	}
	object[path] = secret
}
