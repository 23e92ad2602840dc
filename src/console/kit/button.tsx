import type { ButtonHTMLAttributes, TargetedMouseEvent } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = Omit<ButtonHTMLAttributes, 'onClick'> & {
  /** Until its promise settles, further clicks are ignored. */
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** Whether the action is running, so that the button cannot be pressed again. */
  readonly busy?: boolean
}

export function Button({ kind = 'plain', icon, busy = false, children, disabled, onClick, ...rest }: ButtonProps) {
  const [running, setRunning] = useState(false)
  // A second click may come before the page is drawn again.
  const isRunning = useRef(false)
  const press = async (event: TargetedMouseEvent<HTMLButtonElement>) => {
    if (isRunning.current) return
    const work = onClick?.(event)
    if (!(work instanceof Promise)) return
    isRunning.current = true
    setRunning(true)
    try {
      await work
    } finally {
      isRunning.current = false
      setRunning(false)
    }
  }
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}`}
      disabled={busy || running || disabled}
      aria-busy={busy || running}
      {...(onClick && { onClick: event => void press(event) })}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
