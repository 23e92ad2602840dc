import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { askSession, comeBack } from '../api/session.ts'
import { Page } from '../kit/page.tsx'
import { Problem } from '../kit/problem.tsx'
import { Skeleton } from '../kit/skeleton.tsx'
import { t } from '../words/index.ts'

/** The target of an issuer's redirect: sends the issuer's answer to the gateway, once. */
export function SignInReturn({
  issuer,
  onDone,
}: {
  readonly issuer: string
  readonly onDone: (next: string | undefined) => void
}) {
  const [problem, setProblem] = useState<ApiError | null>(null)
  useEffect(() => {
    const query = location.search
    // The answer is valid once, so the browser must not return to it.
    history.replaceState(null, '', location.pathname)
    comeBack(issuer, query).then(onDone, async (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      await askSession()
      setProblem(error)
    })
  }, [])
  return (
    <div class="stack">
      <Page title={t('login')} />
      {problem ? (
        <>
          <Problem error={problem} />
          <p>
            <a href="/console/login">{t('login.again')}</a>
          </p>
        </>
      ) : (
        <Skeleton />
      )}
    </div>
  )
}
