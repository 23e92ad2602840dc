import type { Json } from '../../kit/json.ts'
import type { Person } from './person.ts'

/** Members whose words name something else, though it may be called as the person is. */
const elsewhere = new Set(['group', 'group_name', 'model', 'models', 'upstream'])
/** What says nothing of a person that the ledger does not need: who set which bound, and when. */
const plain = new Set([
  'role',
  'status',
  'group',
  'budget',
  'budgetPeriod',
  'keysMax',
  'expiresAt',
  'oldUntil',
  'paidIn',
])
const words = /[\p{L}\p{N}_.@-]+/gu

/** JSON in which the pseudonym stands for the name; the same text where the name is not in it. */
export function renameIn(written: string, person: Person): string {
  return written.includes(JSON.stringify(person.name))
    ? JSON.stringify(rename(JSON.parse(written) as Json, person))
    : written
}

function rename(value: Json, person: Person): Json {
  if (value === person.name) return person.pseudonym
  if (Array.isArray(value)) return value.map(one => rename(one, person))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, elsewhere.has(name) ? one : rename(one, person)]),
  )
}

/** One side of a change of the person, or of a key of theirs: which settings it was, and of what is about people no value. */
export function blank(written: string, person: Person): string {
  const fields = JSON.parse(renameIn(written, person)) as { readonly [field: string]: Json }
  const left = Object.entries(fields).map(([name, value]) => [
    name,
    plain.has(name) || value === person.pseudonym ? value : null,
  ])
  return JSON.stringify(Object.fromEntries(left))
}

/** Whether somebody wrote the name into a sentence. */
export function mentions(sentence: string, { name }: Person): boolean {
  return (sentence.match(words) ?? []).some(word => word === name || withoutDots(word) === name)
}

/** A name at the end of a sentence has its dots behind it. */
function withoutDots(word: string): string {
  let end = word.length
  while (word[end - 1] === '.') end--
  return word.slice(0, end)
}
