import { isDeepStrictEqual } from 'node:util'
import type { ConfigEdit, Editable } from '../config/index.ts'
import type { Json } from '../domain/index.ts'

/** A change, and what is written at its path now; undefined where nothing is. */
export type RestoringEdit = ConfigEdit & { readonly was: Json | undefined }

/** The changes of models and groups that make `now` what `then` was. */
export function restoringEdits(now: Editable, then: Editable): readonly RestoringEdit[] {
  return (['models', 'groups'] as const).flatMap(section => {
    const wanted = new Map(then[section].map(one => [one.name, one.own]))
    const own = new Map(now[section].map(one => [one.name, one.own]))
    const names = new Set([...own.keys(), ...wanted.keys()])
    return [...names].flatMap((name): readonly RestoringEdit[] => {
      const [was, value] = [own.get(name), wanted.get(name)]
      if (isDeepStrictEqual(was, value)) return []
      const path = [section, name]
      return [value === undefined ? { path, was } : { path, value, was }]
    })
  })
}
