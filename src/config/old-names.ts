import type { Report } from './report.ts'
import type { Entry, Path, Tree } from './tree.ts'

/** A renamed key, and the path of its parent. */
type OldName = { readonly at: Path; readonly old: string; readonly now: string }

/** Files with an old name stay valid, and have the same meaning as with the new one. */
export const oldNames: readonly OldName[] = [{ at: ['server'], old: 'patient_agents', now: 'agents_accepting_102' }]

/**
 * The tree with every old key name replaced by the new one. Each is reported as a note, or as an error if both are set.
 */
export function renameOldKeys(root: Tree, report?: Report): Tree {
  return oldNames.reduce((tree, name) => renameBelow(tree, name, name.at, report), root)
}

function renameBelow(tree: Tree, name: OldName, rest: Path, report: Report | undefined): Tree {
  if (tree.kind !== 'map') return tree
  const [step, ...below] = rest
  const entries =
    step === undefined
      ? renameEntries(tree.entries, name, report)
      : tree.entries.map(entry =>
          entry.key === step ? { ...entry, value: renameBelow(entry.value, name, below, report) } : entry,
        )
  return { ...tree, entries }
}

function renameEntries(entries: readonly Entry[], { at, old, now }: OldName, report: Report | undefined): Entry[] {
  const isSet = entries.some(entry => entry.key === now)
  return entries.flatMap(entry => {
    if (entry.key !== old) return [entry]
    const place = { path: [...at, old], span: entry.keySpan }
    if (isSet) {
      const message = `'${old}' is the old name of '${now}', and both are set`
      report?.add({ ...place, code: 'duplicate_key', message, remedy: `keep only ${now}` })
      return []
    }
    const message = `'${old}' is now called '${now}'`
    report?.add({
      ...place,
      code: 'key_renamed',
      severity: 'note',
      message,
      remedy: `write ${now}: both mean the same`,
    })
    return [{ ...entry, key: now }]
  })
}

type SchemaData = { readonly [keyword: string]: unknown }

/** The schema with the old names as `deprecated` keys, which editors strike through. */
export function admitOldNames(schema: SchemaData): SchemaData {
  return oldNames.reduce((whole, name) => admitBelow(whole, name, name.at), schema)
}

function admitBelow(schema: SchemaData, name: OldName, [step, ...below]: Path): SchemaData {
  const properties = schema['properties'] as { readonly [key: string]: SchemaData }
  const { [name.now]: renamed } = properties
  if (step !== undefined)
    return { ...schema, properties: { ...properties, [step]: admitBelow(properties[step] ?? {}, name, below) } }
  const { default: _, ...shape } = renamed ?? {}
  const old = { ...shape, deprecated: true, description: `The old name of ${name.now}.` }
  return { ...schema, properties: { ...properties, [name.old]: old } }
}
