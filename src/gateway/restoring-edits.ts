import { isDeepStrictEqual } from 'node:util'
import type { ConfigEdit, Editable } from '../config/index.ts'
import type { Json } from '../domain/index.ts'

/** A change, and the current value at its path; undefined if there is none. */
export type RestoringEdit = ConfigEdit & { readonly was: Json | undefined }

/** The smallest changes of models and groups that turn `now` into `then`, so that comments are kept. */
export function restoringEdits(now: Editable, then: Editable): readonly RestoringEdit[] {
  return (['models', 'groups'] as const).flatMap(section => {
    const own = new Map(now[section].map(one => [one.name, one.own]))
    const wanted = new Map(then[section].map(one => [one.name, one.own]))
    return namesOf(own.keys(), wanted.keys()).flatMap(name => editsTo([section, name], own.get(name), wanted.get(name)))
  })
}

function editsTo(path: readonly string[], was: Json | undefined, value: Json | undefined): readonly RestoringEdit[] {
  if (isDeepStrictEqual(was, value)) return []
  if (isMap(was) && isMap(value))
    return namesOf(Object.keys(was), Object.keys(value)).flatMap(name =>
      editsTo([...path, name], was[name], value[name]),
    )
  return [value === undefined ? { path, was } : { path, value, was }]
}

function namesOf(one: Iterable<string>, other: Iterable<string>): readonly string[] {
  return [...new Set([...one, ...other])]
}

function isMap(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
