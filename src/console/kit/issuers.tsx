import { useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import type { WaysIn } from '../api/shapes.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { problemText } from './problem.tsx'

/** A button for each issuer; if the console has another address for them, a link to it. */
export function Issuers({
  of: { issuers, at },
  onPick,
}: {
  readonly of: WaysIn
  readonly onPick: (issuer: string) => Promise<void>
}) {
  const [refusal, setRefusal] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  if (issuers.length === 0) return null
  if (at !== null && at !== location.origin)
    return (
      <p class="quiet">
        {t('login.elsewhere')} <a href={`${at}/console/login`}>{at}</a>
      </p>
    )
  const pick = async (name: string) => {
    setBusy(true)
    setRefusal(null)
    try {
      // The browser is leaving the page, so the button stays disabled.
      await onPick(name)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setRefusal(error)
      setBusy(false)
    }
  }
  return (
    <div class="issuers">
      {issuers.map(({ name, label }) => (
        <Button key={name} busy={busy} onClick={() => pick(name)}>
          {t('login.by', { issuer: label })}
        </Button>
      ))}
      {refusal !== null && (
        <p class="refusal" role="alert">
          {problemText(refusal)}
        </p>
      )}
    </div>
  )
}
