import type { ComponentChildren } from 'preact'

/** A text for programs, and its actions. */
export function CodeBox({
  text,
  label,
  children,
}: {
  readonly text: string
  readonly label: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="code-box">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      {children}
    </div>
  )
}
