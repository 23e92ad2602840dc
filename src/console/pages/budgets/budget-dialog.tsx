import { useState } from 'preact/hooks'
import { ApiError, call } from '../../api/call.ts'
import { useSession } from '../../api/session.ts'
import type { Budget } from '../../api/shapes.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { FieldError } from '../../kit/field-error.ts'
import { Form, SelectField, TextField } from '../../kit/form.tsx'
import { PickField } from '../../kit/pick-field.tsx'
import { problemText } from '../../kit/problem.tsx'
import { t } from '../../words/index.ts'
import { PeriodFields, periodIn } from '../tokens/period-fields.tsx'
import { changedBudget, readAmount } from '../tokens/setting-fields.tsx'

type Level = 'key' | 'user'

/** Changes the budget of a key or a user, or tops up a balance. */
export function BudgetDialog({
  of,
  onDone,
  onClose,
}: {
  readonly of: Budget
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const { level, name, called } = of
  const title = (
    <>
      {t(`budgets.level.${level}`)} <span class="theirs">{called ?? name}</span>
    </>
  )
  return (
    <Dialog title={title} onClose={onClose}>
      {level === 'balance' ? (
        <TopUp user={name} paidIn={of.amount} onDone={onDone} onClose={onClose} />
      ) : (
        <Form
          submit={t('save')}
          onCancel={onClose}
          onSubmit={async values => {
            const changed = changedBudget(values)
            if (Object.keys(changed).length === 0) return onClose()
            await setBudget(level === 'key' ? 'key' : 'user', name, changed)
            onDone()
          }}
        >
          <BudgetFields
            level={level === 'key' ? 'key' : 'user'}
            amount={of.amount}
            per={of.per}
            day={of.resets_on}
            soft={of.soft}
          />
        </Form>
      )}
    </Dialog>
  )
}

/** Sets a budget for a user or a key, which may already have one. */
export function NewBudget({ onDone, onClose }: { readonly onDone: () => void; readonly onClose: () => void }) {
  const [level, setLevel] = useState<Level>('user')
  return (
    <Dialog title={t('budgets.set')} onClose={onClose}>
      <Form
        submit={t('save')}
        onCancel={onClose}
        onSubmit={async values => {
          const name = values.get('whose')
          if (name === '') throw new FieldError('whose', () => t('required'))
          const budget = readAmount('budget', values)
          await setBudget(level, name, { budget, ...periodIn(values, { hasSoft: true }) }).catch((error: unknown) => {
            throw error instanceof ApiError && error.status === 404
              ? new FieldError('whose', () => problemText(error))
              : error
          })
          onDone()
        }}
      >
        <div class="row">
          <SelectField
            name="level"
            label={t('budgets.of')}
            value={level}
            options={(['user', 'key'] as const).map(one => [one, t(`budgets.level.${one}`)] as const)}
            onInput={value => setLevel(value === 'key' ? 'key' : 'user')}
          />
          <PickField
            key={level}
            of={level}
            name="whose"
            label={t(`budgets.level.${level}`)}
            isFree={level === 'user'}
          />
        </div>
        <BudgetFields level={level} />
      </Form>
    </Dialog>
  )
}

function BudgetFields({
  level,
  amount,
  per = 'month',
  day,
  soft = false,
}: {
  readonly level: Level
  readonly amount?: string
  readonly per?: Budget['per']
  readonly day?: Budget['resets_on']
  readonly soft?: boolean
}) {
  const { gateway } = useSession()
  return (
    <div class="row">
      <TextField
        name="budget"
        label={`${t('tokens.budget')} (${gateway.currency})`}
        hint={t(level === 'user' ? 'ceilings.budget.hint' : 'tokens.budget.hint')}
        inputMode="decimal"
        value={amount ?? ''}
      />
      <PeriodFields per={per} day={day} soft={soft} />
    </div>
  )
}

async function setBudget(level: Level, name: string, body: object): Promise<void> {
  await call(`/${level === 'key' ? 'keys' : 'users'}/${encodeURIComponent(name)}`, { method: 'PATCH', body })
}

function TopUp({
  user,
  paidIn,
  onDone,
  onClose,
}: {
  readonly user: string
  readonly paidIn: string
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const { gateway } = useSession()
  return (
    <Form
      submit={t('budgets.topup')}
      onCancel={onClose}
      onSubmit={async values => {
        const amount = readAmount('amount', values)
        if (amount === null) throw new FieldError('amount', () => t('required'))
        const note = values.get('note').trim()
        // If the answer is lost and the form is sent again, nothing is added twice.
        const body = { amount, paid_in: paidIn, ...(note !== '' && { note }) }
        await call(`/users/${encodeURIComponent(user)}/topups`, { method: 'POST', body })
        onDone()
      }}
    >
      <TextField name="amount" label={`${t('amount')} (${gateway.currency})`} inputMode="decimal" />
      <TextField name="note" label={t('budgets.note')} hint={t('budgets.note.hint')} />
    </Form>
  )
}
