import { addUse, beginUse, type UsageCounts, usageMembers, type UsageRow } from '../../domain/shapes/usage-row.ts'
import type { Row } from '../query.ts'
import { text } from '../rows.ts'

/** The members that identify a row of usage, in the order of listing. */
const names = ['day', 'user', 'keyId', 'model', 'currency'] as const

export type Place = Parameters<typeof beginUse>[0]

type Use = { readonly place: Place; readonly counts: { -readonly [N in keyof UsageCounts]?: number } }

/** Rows of usage by place. */
export class Uses {
  readonly #uses = new Map<string, Use>()

  add(place: Place, counts: Partial<UsageCounts>): void {
    const name = `${place.day}\n${place.user}\n${place.keyId}\n${place.model}\n${place.currency}`
    const use = this.#uses.get(name)
    if (!use) return void this.#uses.set(name, { place, counts: { ...counts } })
    for (const one in counts) {
      const count = one as keyof UsageCounts
      use.counts[count] = (use.counts[count] ?? 0) + (counts[count] ?? 0)
    }
  }

  inOrder(): readonly UsageRow[] {
    const rows = [...this.#uses.values()].map(({ place, counts }) => addUse(beginUse(place), counts))
    return rows.sort((a, b) => {
      for (const name of names) if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
      return 0
    })
  }
}

/** The place of a row, whose column `day` has days since the epoch. */
export function placeOfRow(row: Row): Place {
  const [user, keyId] = [text(row, 'user_name'), text(row, 'key_id')]
  return {
    day: usageMembers.day.read(row['day']),
    user,
    keyId,
    model: text(row, 'model'),
    currency: text(row, 'currency'),
  }
}

export function samePlace(a: Place | undefined, b: Place): boolean {
  return a !== undefined && names.every(name => a[name] === b[name])
}
