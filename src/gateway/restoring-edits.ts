import { isDeepStrictEqual } from 'node:util'
import type { ConfigEdit, Editable } from '../config/index.ts'
import type { Json } from '../domain/index.ts'

/** A change, and the current value at its path; undefined if there is none. */
export type RestoringEdit = ConfigEdit & { readonly was: Json | undefined }

/**
 * The smallest changes of models and groups that turn `now` into `then`, so that comments are kept. If they are more
 * than `most`, each entry is one change.
 */
export function restoringEdits(now: Editable, then: Editable, most: number): readonly RestoringEdit[] {
  const entries = (['models', 'groups'] as const).flatMap(section => {
    const own = new Map(now[section].map(one => [one.name, one.own]))
    const wanted = new Map(then[section].map(one => [one.name, one.own]))
    return namesOf(own.keys(), wanted.keys()).map(name => ({
      path: [section, name],
      was: own.get(name),
      value: wanted.get(name),
    }))
  })
  const possible = entries.filter(isPossible)
  const edits = possible.flatMap(({ path, was, value }) => editsTo(path, was, value))
  return edits.length > most ? possible.flatMap(wholeEdit) : edits
}

type Entry = { readonly path: readonly string[]; readonly was: Json | undefined; readonly value: Json | undefined }

/** Only the file can remove a group, and add a model to a list or to its own entry instead (`own` is null in a list). */
function isPossible({ path: [section], was, value }: Entry): boolean {
  if (value === undefined) return section !== 'groups'
  return was !== null && value !== null
}

function wholeEdit({ path, was, value }: Entry): readonly RestoringEdit[] {
  if (isDeepStrictEqual(was, value)) return []
  return [value === undefined ? { path, was } : { path, value, was }]
}

function editsTo(path: readonly string[], was: Json | undefined, value: Json | undefined): readonly RestoringEdit[] {
  if (!isMap(was) || !isMap(value)) return wholeEdit({ path, was, value })
  return namesOf(Object.keys(was), Object.keys(value)).flatMap(name => editsTo([...path, name], was[name], value[name]))
}

function namesOf(one: Iterable<string>, other: Iterable<string>): readonly string[] {
  return [...new Set([...one, ...other])]
}

function isMap(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
