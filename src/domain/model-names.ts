// Lists of models, as keys, groups and vendor keys have them: names, and names in which one `*` matches any text.

/** Whether a list of models serves one; one that is absent serves all. */
export function serves(models: readonly string[] | null | undefined, model: string): boolean {
  return models?.some(one => covers(one, model)) ?? true
}

/** Whether every model that the second matches is one of the first, whatever models there will be. */
export function covers(one: string, other: string): boolean {
  const at = one.indexOf('*')
  if (at === -1) return one === other
  const [prefix, suffix] = [one.slice(0, at), one.slice(at + 1)]
  return other.length >= prefix.length + suffix.length && other.startsWith(prefix) && other.endsWith(suffix)
}

/** Of the models that a key names those of which its group allows none: they are refused. */
export function modelsBarred(
  models: readonly string[] | null,
  group: { readonly models?: readonly string[] } | undefined,
): readonly string[] {
  const allowed = group?.models
  if (!models || !allowed) return []
  return models.filter(model => !allowed.some(one => covers(one, model) || covers(model, one)))
}
