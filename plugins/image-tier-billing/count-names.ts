/**
 * The names by which upstreams take a number of images, without their case and what stands between their words. Whatever a
 * family does not declare and is called one of these is not sent on: nobody would hold money for it.
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

const separators = /[^a-z0-9]/g

/** Whether a field of this name says how many images are wanted. */
export function isCountName(name: string): boolean {
  return countNames.has(name) || countNames.has(name.toLowerCase().replaceAll(separators, ''))
}
