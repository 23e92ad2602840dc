import type { LogMatch, WantedResult } from '../../domain/index.ts'
import type { LogBatch } from './parse.ts'

/**
 * The index of compacted batches besides their time: keys, users and models, and rare outcomes. Each word is in the
 * index once for every batch that contains it.
 */
export function wordsOf({ whos, whats }: LogBatch): readonly string[] {
  const words = new Set<string>()
  for (const { key_id: key, user_name: user, attribution } of whos) {
    if (attribution !== undefined) for (const id of attribution.split(' ')) words.add(`label ${id}`)
    if (key !== null) words.add(`key ${key}`)
    if (user !== null) words.add(`user ${user}`)
  }
  for (const { model, status, outcome, cache } of whats) {
    if (cache !== undefined) words.add(`cache ${cache}`)
    if (model !== null) words.add(`model ${model}`)
    if (outcome !== 'answered') words.add(`outcome ${outcome}`)
    if (status !== null && status >= 300) words.add(`status ${status}`).add(`status ${Math.floor(status / 100)}xx`)
  }
  return [...words].toSorted()
}

/** Results that only requests with the outcome of the same name have. */
const oneOutcome: ReadonlySet<WantedResult> = new Set(['refused', 'caller_gone', 'upstream_cut', 'deadline'])

/** The word that the fewest batches are likely to have; undefined if a query has none. */
export function wordOf({
  keyId,
  user,
  model,
  status,
  outcome,
  result,
  endUser,
  tag,
  cache,
}: LogMatch): string | undefined {
  if (endUser !== undefined) return `label ${endUser}`
  if (tag !== undefined) return `label ${tag}`
  if (keyId !== undefined) return `key ${keyId}`
  if (user !== undefined) return `user ${user}`
  if (cache !== undefined) return `cache ${cache}`
  if (outcome !== undefined && outcome !== 'answered') return `outcome ${outcome}`
  if (result !== undefined && oneOutcome.has(result)) return `outcome ${result}`
  if (status !== undefined && Number(String(status)[0]) >= 3) return `status ${status}`
  return model === undefined ? undefined : `model ${model}`
}
