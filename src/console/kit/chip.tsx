import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { t } from '../words/index.ts'
import { Icon } from './icon.tsx'

/**
 * A filter as a chip: a button with its name and value, which opens its field. A click elsewhere or Escape closes it.
 * `onClear`: for a filter with a value.
 */
export function Chip({
  label,
  value,
  onClear,
  children,
}: {
  readonly label: string
  readonly value?: ComponentChildren
  readonly onClear?: () => void
  /** The content of the panel; a complete choice calls `close`. */
  readonly children: (close: () => void) => ComponentChildren
}) {
  const panel = useId()
  const place = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const [open, setOpen] = useState(false)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  useEffect(() => {
    if (!open) return undefined
    keepInView(document.getElementById(panel))
    place.current?.querySelector<HTMLElement>('.chip-panel :is(input, select, a, button)')?.focus()
    const away = (event: Event): void => {
      if (event.target instanceof Node && !place.current?.contains(event.target)) setOpen(false)
    }
    document.addEventListener('pointerdown', away)
    document.addEventListener('focusin', away)
    return () => {
      document.removeEventListener('pointerdown', away)
      document.removeEventListener('focusin', away)
    }
  }, [open])
  return (
    <div
      ref={place}
      class={onClear ? 'chip used' : 'chip'}
      onKeyDown={event => {
        if (event.key !== 'Escape' || !open || event.defaultPrevented) return
        event.stopPropagation()
        close()
      }}
    >
      <button ref={button} type="button" aria-expanded={open} aria-controls={panel} onClick={() => setOpen(!open)}>
        {label}
        {value !== undefined && (
          <>
            {t('colon')}
            <span class="theirs chip-value">{value}</span>
          </>
        )}
      </button>
      {onClear && (
        <button type="button" aria-label={t('filter.remove', { filter: label })} onClick={onClear}>
          <Icon name="close" />
        </button>
      )}
      <div id={panel} class="chip-panel" hidden={!open}>
        {open && children(close)}
      </div>
    </div>
  )
}

const edgePx = 12

/** Moves a panel that ends beyond the right edge of the page. */
function keepInView(panel: HTMLElement | null): void {
  if (!panel) return
  panel.style.translate = ''
  const over = panel.getBoundingClientRect().right - document.documentElement.clientWidth + edgePx
  if (over > 0) panel.style.translate = `${-over}px`
}

/** A choice among several values in a chip's panel. Choosing the current value removes it. */
export function ChipChoices({
  label,
  of,
  chosen,
  onPick,
}: {
  readonly label: string
  readonly of: readonly (readonly [value: string, text: ComponentChildren])[]
  readonly chosen: string | undefined
  readonly onPick: (value: string) => void
}) {
  return (
    <div class="chip-choices" role="group" aria-label={label}>
      {of.map(([value, text]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === chosen}
          onClick={() => onPick(value === chosen ? '' : value)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}
