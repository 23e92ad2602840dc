import { tName } from '../words/index.ts'
import { Icon } from './icon.tsx'

/** `fine`: as it should be, on most rows, where green would hide what is not. */
type Tone = 'fine' | 'good' | 'warn' | 'bad' | 'idle'

const tones: { readonly [name: string]: Tone } = {
  active: 'fine',
  answered: 'fine',
  settled: 'fine',
  healthy: 'good',
  reserved: 'warn',
  needs_review: 'warn',
  caller_gone: 'warn',
  warning: 'warn',
  simulated: 'warn',
  cooling: 'warn',
  not_asked: 'idle',
  revoked: 'idle',
  voided: 'idle',
  disabled: 'idle',
}

/** A state in words, with a sign and a colour that say the same. */
export function Status({ name, tone = tones[name] ?? 'bad' }: { readonly name: string; readonly tone?: Tone }) {
  return (
    <span class={`status ${tone}`}>
      <Icon name={tone === 'fine' ? 'good' : tone} />
      {tName('status', name)}
    </span>
  )
}
