import type { ComponentChildren } from 'preact'
import type { Model } from '../../api/shapes.ts'
import { Form, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { Results } from './run.tsx'
import { type Money, type Question, type Run, runAt } from './runs.ts'

/** One model, or two with the same request. */
export type BenchProps = { readonly models: readonly Model[]; readonly operation: string }

/** A form, and the results next to it: one for each model. */
export function Bench<Result>({
  models,
  operation,
  ask,
  atMost,
  fields,
  notes,
  children,
}: BenchProps & {
  /** @throws FieldError */
  readonly ask: (values: Values) => (model: string) => Question<Result>
  readonly atMost?: (model: string) => Money | undefined
  readonly fields: ComponentChildren
  readonly notes?: ComponentChildren
  /** `isOver`: the result is complete. */
  readonly children: (result: Result, isOver: boolean) => ComponentChildren
}) {
  const runs: readonly Run<Result>[] = models.map((_, i) => runAt<Result>(`${operation} ${i}`))
  const send = (values: Values): void => {
    const question = ask(values)
    for (const [i, { name }] of models.entries()) runs[i]?.start(name, question(name), atMost?.(name))
  }
  return (
    <div class="bench">
      <div class="card">
        <Form submit={t('send')} onSubmit={send} isBusy={runs.some(({ busy }) => busy === true)}>
          {fields}
        </Form>
        {notes}
      </div>
      <Results of={runs}>{children}</Results>
    </div>
  )
}
