import { firstEvent } from '../../domain/events.ts'

/** The position of an event in the order of all: its piece, its position in a chain, and its index there. */
export type EventPosition = { readonly place: number; readonly position: number; readonly index: number }

const lengths = [9, 9, 4] as const
const written = /^evt_([0-9a-v]{9})([0-9a-v]{9})([0-9a-v]{4})$/
/** Sorts after all positions of one piece. */
export const endOfPiece = { position: 32 ** 9 - 1, index: 32 ** 4 - 1 } as const

/** The id of an event encodes its position: ids sort as events were stored, and reading continues from any of them. */
export function idOfPosition({ place, position, index }: EventPosition): string {
  const numbers = [place, position, index].map((number, i) => number.toString(32).padStart(lengths[i] ?? 0, '0'))
  return `evt_${numbers.join('')}`
}

/** @throws RangeError for text that is not an event's id */
export function positionOfId(id: string): EventPosition {
  const [, place, position, index] = written.exec(id) ?? []
  if (place === undefined || position === undefined || index === undefined) {
    if (id === firstEvent) return { place: 0, ...endOfPiece }
    throw new RangeError(`${id} is no event's id`)
  }
  const read = (text: string): number => Number.parseInt(text, 32)
  return { place: read(place), position: read(position), index: read(index) }
}
