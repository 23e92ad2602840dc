import { useState } from 'preact/hooks'
import { useLoad } from '../../api/load.ts'
import type { Model, Pricing } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { AreaField, FileField, FieldError, Form, SelectField, TextField, type Values } from '../../kit/form.tsx'
import { Notes } from '../../kit/notes.tsx'
import { t } from '../../words/index.ts'
import { FileList } from './file-list.tsx'
import { type Picture, Pictures, readPictures } from './pictures.tsx'
import { Quote } from './quote.tsx'
import { Ran, useRun } from './run.tsx'

const usual = ['1024x1024', '1536x1024', '2048x1152', '3840x2160']
const qualities = ['', 'low', 'medium', 'high', 'auto']

type ImagesProps = { readonly model: Model; readonly operation: string; readonly edit: boolean }

/** Makes pictures, or makes them anew from others. */
export function Images({ model, operation, edit }: ImagesProps) {
  const [size, setSize] = useState('')
  const [n, setN] = useState('1')
  const [quality, setQuality] = useState('')
  const [files, setFiles] = useState<readonly File[]>([])
  const [mask, setMask] = useState<File | undefined>()
  const run = useRun<readonly Picture[]>()
  const asked = {
    model: model.name,
    operation,
    ...(size.trim() !== '' && { size: size.trim() }),
    ...(/^\d+$/.test(n) && { n: Number(n) }),
    ...(quality !== '' && { quality }),
  }
  const send = (values: Values) => {
    const prompt = values.get('prompt').trim()
    if (prompt === '') throw new FieldError('prompt', t('required'))
    if (edit && files.length === 0) throw new FieldError('image', t('play.image.needed'))
    const fields = {
      model: model.name,
      prompt,
      n,
      size: size.trim(),
      quality,
      response_format: values.get('response_format'),
    }
    const given = Object.entries(fields).filter(([, value]) => value !== '')
    if (!edit) {
      const body = Object.fromEntries(given.map(([name, value]) => [name, name === 'n' ? Number(value) : value]))
      return run.start('/v1/images/generations', body, readPictures)
    }
    const body = new FormData()
    for (const [name, value] of given) body.append(name, value)
    for (const file of files) body.append('image[]', file)
    if (mask) body.append('mask', mask)
    run.start('/v1/images/edits', body, readPictures)
  }
  return (
    <div class="bench">
      <div class="card">
        <Form submit={t('send')} onSubmit={send}>
          <AreaField name="prompt" label={t('play.prompt')} rows={4} {...(edit && { hint: t('play.edit.note') })} />
          {edit && (
            <>
              <FileField
                name="image"
                label={t('play.images')}
                hint={t('play.images.hint')}
                multiple
                accept="image/*"
                onFiles={more => setFiles([...files, ...more])}
              />
              <FileList files={files} onChange={setFiles} />
              <FileField name="mask" label={t('play.mask')} accept="image/*" onFiles={([file]) => setMask(file)} />
            </>
          )}
          <div class="field">
            <TextField name="size" label={t('play.size')} hint={t('play.size.hint')} value={size} onInput={setSize} />
            <Presets model={model.name} size={size} onPick={setSize} />
          </div>
          <div class="row">
            <TextField name="n" label={t('play.n')} inputMode="numeric" value={n} onInput={setN} />
            <SelectField
              name="quality"
              label={t('play.quality')}
              hint={t('play.quality.hint')}
              value={quality}
              onInput={setQuality}
              options={qualities.map(one => [one, one === '' ? t('play.unset') : one] as const)}
            />
            <SelectField
              name="response_format"
              label={t('play.format')}
              options={['', 'b64_json', 'url'].map(one => [one, one === '' ? t('play.unset') : one] as const)}
            />
          </div>
          <Quote asked={asked} />
        </Form>
        <Notes of={model.notes} />
      </div>
      <Ran of={run}>{pictures => <Pictures of={pictures} />}</Ran>
    </div>
  )
}

/** The sizes that the price page knows of this model. */
function Presets({
  model,
  size,
  onPick,
}: {
  readonly model: string
  readonly size: string
  readonly onPick: (size: string) => void
}) {
  const pricing = useLoad<Pricing>('/pricing').value
  const sizes = pricing?.models.find(({ name }) => name === model)?.sizes?.map(({ asked }) => asked ?? '') ?? usual
  return (
    <div class="presets" role="group" aria-label={t('play.presets')}>
      {['', ...new Set(sizes)]
        .filter((one, i) => i === 0 || one !== '')
        .map(one => (
          <Button key={one} aria-pressed={size.trim() === one} onClick={() => onPick(one)}>
            {one === '' ? t('play.unset') : one}
          </Button>
        ))}
    </div>
  )
}
