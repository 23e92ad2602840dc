import { tName } from '../words/index.ts'
import { Icon } from './icon.tsx'

/** `fine`: the normal state of most rows, where green would hide problems. */
type Tone = 'fine' | 'good' | 'warn' | 'bad' | 'idle'

const tones: { readonly [name: string]: Tone } = {
  active: 'fine',
  answered: 'fine',
  succeeded: 'fine',
  settled: 'fine',
  healthy: 'good',
  reserved: 'warn',
  needs_review: 'warn',
  caller_gone: 'warn',
  warning: 'warn',
  simulated: 'warn',
  cooling: 'warn',
  ending: 'warn',
  object_ended: 'idle',
  not_asked: 'idle',
  revoked: 'idle',
  voided: 'idle',
  disabled: 'idle',
}

/** The tone of a state; `bad` for an unknown one. */
export function toneOf(name: string): Tone {
  return tones[name] ?? 'bad'
}

/** A state in words, with a matching sign and colour. */
export function Status({ name, tone = toneOf(name) }: { readonly name: string; readonly tone?: Tone }) {
  return (
    <span class={`status ${tone}`}>
      <Icon name={tone === 'fine' ? 'good' : tone} />
      {tName('status', name)}
    </span>
  )
}
