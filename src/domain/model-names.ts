// Lists of models in keys, groups and vendor keys: names, and patterns in which one `*` matches any text.

/** Whether a list of models contains one; an absent list contains all. */
export function serves(models: readonly string[] | null | undefined, model: string): boolean {
  return models?.some(one => covers(one, model)) ?? true
}

/** A name with one `*`. */
type Wildcard = { readonly prefix: string; readonly suffix: string }

export function parseWildcard(name: string): Wildcard | undefined {
  const at = name.indexOf('*')
  return at === -1 ? undefined : { prefix: name.slice(0, at), suffix: name.slice(at + 1) }
}

/** Whether the first list contains every model that the second matches, whatever models are added later. */
export function covers(one: string, other: string): boolean {
  const wide = parseWildcard(one)
  if (!wide) return one === other
  const { prefix, suffix } = wide
  return other.length >= prefix.length + suffix.length && other.startsWith(prefix) && other.endsWith(suffix)
}

/** Whether some name matches both wildcards. */
export function overlap(one: Wildcard, other: Wildcard): boolean {
  const isOpen = one.prefix.startsWith(other.prefix) || other.prefix.startsWith(one.prefix)
  return isOpen && (one.suffix.endsWith(other.suffix) || other.suffix.endsWith(one.suffix))
}

/** The models on a key's list that its group does not allow: requests for them are refused. */
export function modelsBarred(
  models: readonly string[] | null,
  group: { readonly models?: readonly string[] } | undefined,
): readonly string[] {
  const allowed = group?.models
  if (!models || !allowed) return []
  return models.filter(model => !allowed.some(one => haveCommon(one, model)))
}

function haveCommon(one: string, other: string): boolean {
  const [a, b] = [parseWildcard(one), parseWildcard(other)]
  return a && b ? overlap(a, b) : covers(one, other) || covers(other, one)
}
