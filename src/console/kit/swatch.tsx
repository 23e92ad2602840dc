/** The number of colours for parts of a drawing; all other parts share the last one. */
export const coloursMax = 8

/** The colour of a part, next to its name. `at`: its index in the drawing. */
export function Swatch({ at }: { readonly at: number }) {
  return (
    <svg class={`swatch ${colourOf(at)}`} viewBox="0 0 10 10" aria-hidden="true">
      <rect width="10" height="10" rx="2" />
    </svg>
  )
}

export function colourOf(at: number): string {
  return `part-${Math.min(at, coloursMax - 1)}`
}
