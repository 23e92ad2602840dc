/** A choice among a few values, each with its own address, so that the browser's back button undoes it. */
export function Choices<T extends string>({
  label,
  of,
  chosen,
  hrefOf,
}: {
  readonly label: string
  readonly of: readonly (readonly [value: T, text: string])[]
  readonly chosen: T | null
  readonly hrefOf: (value: T) => string
}) {
  return (
    <div class="choices" role="group" aria-label={label}>
      {of.map(([value, text]) => (
        <a key={value} href={hrefOf(value)} {...(value === chosen && { 'aria-current': 'true' as const })}>
          {text}
        </a>
      ))}
    </div>
  )
}
