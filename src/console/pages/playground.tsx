import type { ComponentType } from 'preact'
import { useLoad } from '../api/load.ts'
import type { Model } from '../api/shapes.ts'
import { Empty } from '../kit/empty.tsx'
import { SelectField } from '../kit/form.tsx'
import { Loaded } from '../kit/loaded.tsx'
import { Page } from '../kit/page.tsx'
import { Tabs } from '../kit/tabs.tsx'
import { useQuery } from '../query.ts'
import { t, tName } from '../words/index.ts'
import { Images } from './playground/images.tsx'
import { Chat, Embeddings, Rerank, Speech, Transcription } from './playground/texts.tsx'

const kinds: readonly (readonly [operation: string, form: ComponentType<{ readonly model: Model }>])[] = [
  ['image.generate', ({ model }) => <Images model={model} edit={false} />],
  ['image.edit', ({ model }) => <Images model={model} edit />],
  ['chat', Chat],
  ['audio.speech', Speech],
  ['audio.transcribe', Transcription],
  ['embeddings', Embeddings],
  ['rerank', Rerank],
]

/** 试验台: asks the gateway as its callers do, and says before what it will cost and after what it did. */
export function Playground() {
  const { query, set } = useQuery()
  const load = useLoad<{ models: readonly Model[] }>('/models')
  return (
    <Page title={t('nav.playground')}>
      <Loaded of={load}>
        {({ models: all }) => {
          const models = all.filter(model => model.enabled)
          const offered = kinds.filter(([operation]) => models.some(model => model.operations.includes(operation)))
          const [operation, Form] = offered.find(([one]) => one === query['op']) ?? offered[0] ?? []
          if (!operation || !Form) return <Empty title={t('models.none')} />
          const able = models.filter(model => model.operations.includes(operation))
          const model = able.find(({ name }) => name === query['model']) ?? able[0]
          return (
            <Tabs
              label={t('operation')}
              tabs={offered.map(([one]) => [one, tName('operation', one)] as const)}
              value={operation}
              onPick={op => set({ op, model: null })}
            >
              <div class="stack">
                <div class="filters">
                  <SelectField
                    name="model"
                    label={t('model')}
                    value={model?.name ?? ''}
                    options={able.map(({ name }) => [name, name] as const)}
                    onInput={name => set({ model: name })}
                  />
                </div>
                {model && <Form key={`${operation} ${model.name}`} model={model} />}
              </div>
            </Tabs>
          )
        }}
      </Loaded>
    </Page>
  )
}
