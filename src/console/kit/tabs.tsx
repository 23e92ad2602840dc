import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

type Tab = readonly [value: string, text: string]

/** One of several views; arrow keys move between tabs. */
export function Tabs({
  label,
  tabs,
  value,
  onPick,
  children,
}: {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly value: string
  readonly onPick: (value: string) => void
  readonly children?: ComponentChildren
}) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Scrolls the tabs on a narrow screen, without scrolling the page.
    const tab = document.getElementById(`${id}-${value}`)?.getBoundingClientRect()
    const shown = list.current?.getBoundingClientRect()
    if (list.current && tab && shown && (tab.right > shown.right || tab.left < shown.left))
      list.current.scrollLeft += tab.left - shown.left
  }, [value])
  const step = (event: KeyboardEvent, by: number) => {
    const at = tabs.findIndex(([one]) => one === value)
    const next = tabs.at((at + by) % tabs.length)
    if (!next) return
    event.preventDefault()
    onPick(next[0])
    document.getElementById(`${id}-${next[0]}`)?.focus()
  }
  return (
    <div class="tabs">
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        onKeyDown={event => {
          // A key with one of these modifiers belongs to the browser, such as Alt and an arrow for back.
          if (event.altKey || event.ctrlKey || event.metaKey) return
          if (event.key === 'ArrowRight') step(event, 1)
          if (event.key === 'ArrowLeft') step(event, -1)
        }}
      >
        {tabs.map(([one, text]) => (
          <button
            key={one}
            id={`${id}-${one}`}
            type="button"
            role="tab"
            aria-selected={one === value}
            aria-controls={`${id}-panel`}
            tabIndex={one === value ? 0 : -1}
            onClick={() => onPick(one)}
          >
            {text}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${value}`}>
        {children}
      </div>
    </div>
  )
}
