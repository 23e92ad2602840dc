/** The action of pressed keys: the list of shortcuts, the filter of the page, or the page of a letter. */
export type Wish = { readonly kind: 'list' | 'filter' } | { readonly kind: 'go'; readonly letter: string }

/** The needed part of a KeyboardEvent. */
type Press = { readonly key: string } & {
  readonly [held in 'altKey' | 'ctrlKey' | 'metaKey' | 'repeat' | 'isComposing']: boolean
}

/** The time in which a letter after `g` belongs to it. */
const secondMs = 1500

/** Reads keys one after another. `now`: monotonic milliseconds. */
export function createKeyReader(now: () => number): (press: Press) => Wish | null {
  let begun: number | null = null
  return ({ key, altKey, ctrlKey, metaKey, repeat, isComposing }) => {
    // A key with one of these modifiers belongs to the browser or another program.
    if (altKey || ctrlKey || metaKey || repeat || isComposing || key === 'Shift') return null
    const isSecond = begun !== null && now() - begun <= secondMs
    begun = null
    const letter = key.toLowerCase()
    if (isSecond && /^[a-z]$/.test(letter)) return { kind: 'go', letter }
    if (letter === 'g') begun = now()
    if (key === '?') return { kind: 'list' }
    if (key === '/') return { kind: 'filter' }
    return null
  }
}
