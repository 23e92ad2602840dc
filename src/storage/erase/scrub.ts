import type { Json } from '../../domain/json.ts'
import type { Person } from './person.ts'

type Fields = { readonly [member: string]: Json }

/** Whether a member names the person. All other texts have another meaning, even if they equal the name. */
export type SaysWho = (member: string, of: Fields) => boolean

/** The author of a bound, whatever the bound is on. */
export const inBounds: SaysWho = member => member === 'by'
/** For a key: its owner, and the author of its bounds. Its `name` is a label. */
export const inChanges: SaysWho = member => member === 'by' || member === 'user'
export const inInvitations: SaysWho = member => member === 'name'
/** For budgets: their name is their owner's; budgets of groups and keys have names, too. */
export const inEvents: SaysWho = (member, of) =>
  inChanges(member, of) || (member === 'name' && (of['level'] === 'user' || of['level'] === 'balance'))

/** Members about a person that the ledger does not need: who set which bound, and when. */
const plain = new Set([
  'role',
  'status',
  'group',
  'budget',
  'budgetPeriod',
  'budgetSoft',
  'keysMax',
  'expiresAt',
  'oldUntil',
  'paidIn',
])
const words = /[\p{L}\p{N}_.@-]+/gu
const letter = /[\p{L}\p{N}_]/u
const startsWithLetter = /^[\p{L}\p{N}_]/u

/** Replaces the name with the pseudonym in JSON; returns the same text if it does not contain the name. */
export function renameIn(written: string, person: Person, saysWho: SaysWho): string {
  if (!written.includes(JSON.stringify(person.name))) return written
  const read = JSON.parse(written) as Json
  const renamed = JSON.stringify(rename(read, person, saysWho))
  return renamed === JSON.stringify(read) ? written : renamed
}

function rename(value: Json, person: Person, saysWho: SaysWho): Json {
  if (Array.isArray(value)) return value.map(one => rename(one, person, saysWho))
  if (value === null || typeof value !== 'object') return value
  const fields = value as Fields
  return Object.fromEntries(
    Object.entries(fields).map(([member, one]) => [
      member,
      one === person.name && saysWho(member, fields) ? person.pseudonym : rename(one, person, saysWho),
    ]),
  )
}

/**
 * One side of a change of the person or one of their keys: keeps the names of the settings, without values about
 * people.
 */
export function blank(written: string, person: Person): string {
  const fields = JSON.parse(renameIn(written, person, inChanges)) as Fields
  const left = Object.entries(fields).map(([name, value]) => [
    name,
    plain.has(name) || value === person.pseudonym ? value : null,
  ])
  return JSON.stringify(Object.fromEntries(left))
}

/** Whether a sentence contains the name. */
export function mentions(sentence: string, { name }: Person): boolean {
  // A name that is not a word is matched literally.
  if (name.match(words)?.[0] !== name) return sentence.includes(name)
  return (sentence.match(words) ?? []).some(word => isNamed(word, name))
}

/** A dot may end a sentence, and an @ may precede the name of a person. */
function isNamed(word: string, name: string): boolean {
  const from = startsWithLetter.test(name) ? word.search(letter) : 0
  if (from < 0 || !word.startsWith(name, from)) return false
  for (let end = from + name.length; end < word.length; end++) if (!'.@-'.includes(word.charAt(end))) return false
  return true
}
