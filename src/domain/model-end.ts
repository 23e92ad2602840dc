import { readDate } from '../util/index.ts'
import type { Model, ModelEnd } from './model.ts'

/** Parses `2026-12-01`; undefined if it is no valid date. */
export function parseEnd(date: string): ModelEnd | undefined {
  const at = readDate(date)
  return at === undefined ? undefined : { date, at, sunset: new Date(at).toUTCString() }
}

/** Notes on a model for clients: the notes of its family, and the end of its service. */
export function notesOf({ family: { notes }, ends }: Model): Model['family']['notes'] {
  if (!ends) return notes
  return {
    en: [...notes.en, `Its vendor ends it on ${ends.date}. Use another model from then on.`],
    zh: [...notes.zh, `供应商将于 ${ends.date} 停止提供该模型，届时请改用其他模型。`],
  }
}
