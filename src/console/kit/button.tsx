import type { ButtonHTMLAttributes } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = ButtonHTMLAttributes & {
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly icon?: IconName
  /** Whether the action is running, so that the button cannot be pressed again. */
  readonly busy?: boolean
}

export function Button({ kind = 'plain', icon, busy = false, children, disabled, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind}`} disabled={busy || disabled} aria-busy={busy}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
