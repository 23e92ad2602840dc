import type { ComponentType } from 'preact'
import { shownOperations, type ShownOperation } from '../../operations/shown.ts'
import { useLoad } from '../api/load.ts'
import { useSession } from '../api/session.ts'
import type { ModelList } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { SelectField } from '../kit/form.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { useQuery } from '../query.ts'
import { t } from '../words/index.ts'
import { tOperation } from '../words/operation.ts'
import type { BenchProps } from './playground/bench.tsx'
import { draftsOf } from './playground/drafts.ts'
import { Images } from './playground/images.tsx'
import { findPlace, keepPlace } from './playground/places.ts'
import { Chat, Embeddings, Rerank, Speech, Transcription } from './playground/texts.tsx'

type Form = NonNullable<ShownOperation['form']>

/** In the order of their tabs. */
const forms: { readonly [form in Form]: ComponentType<BenchProps> } = {
  images: props => <Images {...props} edit={false} />,
  edits: props => <Images {...props} edit />,
  conversation: Chat,
  voice: Speech,
  transcript: Transcription,
  vectors: Embeddings,
  ranks: Rerank,
}
const kinds = Object.entries(forms).flatMap(([form, component]) =>
  shownOperations.filter(one => one.form === form).map(one => [one.name, component] as const),
)

/** 试验台: sends requests like the gateway's clients, and shows their cost before and after. */
export function Playground() {
  const { query, set } = useQuery()
  const load = useLoad<ModelList>('/models')
  draftsOf(useSession().user.name)
  const wanted = findPlace(query)
  return (
    <Page title={t('nav.playground')}>
      <Loaded of={load}>
        {({ models: all }) => {
          const models = all.filter(model => model.enabled && model.usable && !model.name.includes('*'))
          const offered = kinds.filter(([operation]) => models.some(model => model.operations.includes(operation)))
          const [operation, Bench] = offered.find(([one]) => one === wanted.op) ?? offered[0] ?? []
          if (!operation || !Bench) return <Empty title={t('models.none')} />
          const able = models.filter(model => model.operations.includes(operation))
          const model = able.find(({ name }) => name === wanted.model) ?? able[0]
          const other = able.find(({ name }) => name === wanted.vs && name !== model?.name)
          keepPlace({ op: operation, model: model?.name, vs: other?.name })
          return (
            <Tabs
              label={t('operation')}
              tabs={offered.map(([one]) => [one, tOperation(one)] as const)}
              value={operation}
              onPick={op => set({ op, model: null, vs: null })}
            >
              <div class="stack">
                <div class="filters">
                  <SelectField
                    name="model"
                    label={t('model')}
                    value={model?.name ?? ''}
                    options={able.map(({ name }) => [name, name] as const)}
                    onInput={name => set({ op: operation, model: name, vs: other?.name })}
                  />
                  {able.length > 1 && (
                    <SelectField
                      name="vs"
                      label={t('play.compare')}
                      value={other?.name ?? ''}
                      options={[
                        ['', t('play.compare.none')],
                        ...able.filter(one => one !== model).map(({ name }) => [name, name] as const),
                      ]}
                      onInput={name => set({ op: operation, model: model?.name, vs: name })}
                    />
                  )}
                </div>
                {model && <Bench key={operation} models={other ? [model, other] : [model]} operation={operation} />}
              </div>
            </Tabs>
          )
        }}
      </Loaded>
    </Page>
  )
}
