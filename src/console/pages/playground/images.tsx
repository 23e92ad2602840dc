import { useEffect, useRef } from 'preact/hooks'
import { useLoad } from '../../api/load.ts'
import type { Pricing } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { FieldError } from '../../kit/field-error.ts'
import { AreaField, FileField, SelectField, TextField, type Values } from '../../kit/form.tsx'
import { Notes } from '../../kit/notes.tsx'
import { useQuery } from '../../query.ts'
import { t } from '../../words/index.ts'
import { Bench, type BenchProps } from './bench.tsx'
import { useFiles, useText } from './drafts.ts'
import { FileList } from './file-list.tsx'
import { type Picture, Pictures, readPictures } from './pictures.tsx'
import { Quote } from './quote.tsx'
import type { Money } from './runs.ts'

const usual = ['1024x1024', '1536x1024', '2048x1152', '3840x2160']
const qualities = ['', 'low', 'medium', 'high', 'auto']
const formats = ['', 'b64_json', 'url']

/** Creates pictures, from a prompt or from other pictures. */
export function Images({ models, operation, edit }: BenchProps & { readonly edit: boolean }) {
  const [prompt, setPrompt] = useText(operation, 'prompt')
  const [size, setSize] = useText(operation, 'size')
  const { query, set } = useQuery()
  useEffect(() => {
    // Advice on another page links here with the recommended size.
    const advised = query['size']
    if (advised === undefined) return
    setSize(advised)
    set({ size: null })
  }, [query['size']])
  const [n, setN] = useText(operation, 'n', '1')
  const [quality, setQuality] = useText(operation, 'quality')
  const [format, setFormat] = useText(operation, 'response_format')
  const [files] = useFiles(operation, 'image')
  const [masks] = useFiles(operation, 'mask')
  const quotes = useRef(new Map<string, Money>())
  const requestFor = (model: string) => ({
    model,
    operation,
    ...(size.trim() !== '' && { size: size.trim() }),
    ...(/^\d+$/.test(n) && { n: Number(n) }),
    ...(quality !== '' && { quality }),
  })
  const ask = (values: Values) => {
    const text = values.get('prompt').trim()
    if (text === '') throw new FieldError('prompt', () => t('required'))
    if (edit && files.length === 0) throw new FieldError('image', () => t('play.image.needed'))
    const fields = { prompt: text, n, size: size.trim(), quality, response_format: format }
    return (model: string) => {
      const given = Object.entries({ model, ...fields }).filter(([, value]) => value !== '')
      if (!edit) {
        const body = Object.fromEntries(given.map(([name, value]) => [name, name === 'n' ? Number(value) : value]))
        return { path: '/v1/images/generations', body, read: readPictures }
      }
      const body = new FormData()
      for (const [name, value] of given) body.append(name, value)
      for (const file of files) body.append('image[]', file)
      if (masks[0]) body.append('mask', masks[0])
      return { path: '/v1/images/edits', body, read: readPictures }
    }
  }
  const first = models[0]?.name ?? ''
  return (
    <Bench<readonly Picture[]>
      models={models}
      operation={operation}
      ask={ask}
      atMost={model => quotes.current.get(model)}
      notes={models.map(model => <Notes key={model.name} of={model.notes} />)}
      fields={
        <>
          <AreaField
            name="prompt"
            label={t('play.prompt')}
            rows={4}
            value={prompt}
            onInput={setPrompt}
            {...(edit && { hint: t('play.edit.note') })}
          />
          {edit && <Originals operation={operation} />}
          <div class="field">
            <TextField name="size" label={t('play.size')} hint={t('play.size.hint')} value={size} onInput={setSize} />
            <Presets model={first} size={size} onPick={setSize} />
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
              value={format}
              onInput={setFormat}
              options={formats.map(one => [one, one === '' ? t('play.unset') : one] as const)}
            />
          </div>
          {models.map(({ name }) => (
            <Quote
              key={name}
              request={requestFor(name)}
              names={models.length > 1}
              onSize={setSize}
              onQuote={money => (money ? quotes.current.set(name, money) : quotes.current.delete(name))}
            />
          ))}
        </>
      }
    >
      {pictures => <Pictures of={pictures} />}
    </Bench>
  )
}

/** The mask and its picture: stored with the operation's other fields. */
function Originals({ operation }: { readonly operation: string }) {
  const [files, setFiles] = useFiles(operation, 'image')
  const [masks, setMasks] = useFiles(operation, 'mask')
  return (
    <>
      <FileField
        name="image"
        label={t('play.images')}
        hint={t('play.images.hint')}
        multiple
        accept="image/*"
        onFiles={more => setFiles([...files, ...more])}
      />
      <FileList files={files} label={t('play.images')} onChange={setFiles} />
      <FileField
        name="mask"
        label={t('play.mask')}
        accept="image/*"
        onFiles={([file]) => setMasks(file ? [file] : [])}
      />
      <FileList files={masks} label={t('play.mask')} onChange={setMasks} />
    </>
  )
}

/** The sizes on the price page for this model. */
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
