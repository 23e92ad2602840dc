import type { ButtonHTMLAttributes, TargetedMouseEvent } from 'preact'
import { Icon, type IconName } from './icon.tsx'
import { useOneAction } from './use-one-action.ts'

type ButtonProps = Omit<ButtonHTMLAttributes, 'onClick'> & {
  /** Until its promise settles, further clicks are ignored. */
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** Whether the action is running, so that the button cannot be pressed again. */
  readonly busy?: boolean
}

export function Button({ kind = 'plain', icon, busy = false, children, disabled, onClick, ...rest }: ButtonProps) {
  const [running, run] = useOneAction()
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind}`}
      disabled={busy || running || disabled}
      aria-busy={busy || running}
      {...(onClick && { onClick: event => void run(() => onClick(event)) })}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
