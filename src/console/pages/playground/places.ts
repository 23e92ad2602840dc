type Query = { readonly [name: string]: string | undefined }
/** The tab of an operation, its model, and the second model. */
export type Place = { readonly op: string; readonly model: string | undefined; readonly vs: string | undefined }

// A user who returns by the menu has an address without a state, and gets the last one: a request may be running.
const places = new Map<string, Place>()
let last: string | undefined

/** Keeps the user's state while the page is open. */
export function keepPlace(place: Place): void {
  places.set(place.op, place)
  last = place.op
}

/** The state for an address: omitted parts stay unchanged. */
export function findPlace({ op, model, vs }: Query): { readonly [name in keyof Place]: string | undefined } {
  if (model !== undefined) return { op, model, vs }
  const wanted = op ?? last
  const before = wanted === undefined ? undefined : places.get(wanted)
  return { op: wanted, model: before?.model, vs: vs ?? before?.vs }
}

export function forgetPlaces(): void {
  places.clear()
  last = undefined
}
