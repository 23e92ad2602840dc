// Lists of models, as keys, groups and vendor keys have them: names, and names in which `*` matches the rest.

/** Whether a list of models serves one; one that is absent serves all. */
export function serves(models: readonly string[] | null | undefined, model: string): boolean {
  return models?.some(one => covers(one, model)) ?? true
}

/** Whether every model that the second matches is one of the first, whatever models there will be. */
export function covers(one: string, other: string): boolean {
  return isPattern(one) ? other.startsWith(one.slice(0, -1)) : one === other
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

function isPattern(name: string): boolean {
  return name.endsWith('*')
}
