/**
 * Field names with which upstreams accept a number of images, in lower case without separators. Fields with these
 * names that the family does not declare are not forwarded, because no money would be held for them.
 */
const countNames: ReadonlySet<string> = new Set([
  'n',
  'num',
  'count',
  'quantity',
  'samples',
  'numimages',
  'numimage',
  'nimages',
  'imagenum',
  'imagesnum',
  'imagecount',
  'imagescount',
  'maximages',
  'numberofimages',
  'numimagesperprompt',
  'imagesperprompt',
  'batchsize',
  'batchcount',
  'numbatches',
  'niter',
  'numsamples',
  'nsamples',
  'numberofsamples',
  'samplecount',
  'numoutputs',
  'outputcount',
  'numberofoutputs',
  'numresults',
  'numberresults',
  'numberofresults',
  'resultcount',
  'numvariations',
  'numberofvariations',
  'variationcount',
  'candidatecount',
  'numcandidates',
  'numgenerations',
  'generationcount',
])

/** The counted item and the word for the count, in either order, optionally with `of`: `numberofpictures`. */
const made =
  '(?:images?|imgs?|pictures?|pics?|photos?|outputs?|results?|samples?|variations?|variants?|generations?|candidates?)'
const number = '(?:n|num|nums|number|count|quantity|qty|amount|total|max)'
const countName = new RegExp(`^(?:${number}(?:of)?${made}|${made}${number})$`)

const nameCharsMax = 32
const separators = /[^a-z0-9]/g

/** Whether a field of this name sets a number of images. */
export function isCountName(name: string): boolean {
  if (countNames.has(name)) return true
  const plain = name.toLowerCase().replaceAll(separators, '')
  return plain.length <= nameCharsMax && (countNames.has(plain) || countName.test(plain))
}
