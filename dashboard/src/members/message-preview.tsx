// A message as a person would get it. Its HTML is shown in a frame without any right: no script, no form, no link, no address of its own;
// and only its structure and text reach that frame.
import { shownHtml } from '../../../src/domain/member-messages/shown-html.ts'
import type { Answer } from '../api/routes.ts'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/facts.tsx'
import './message-preview.css'

export type Preview = Answer<'GET /api/batches/{batchId}/members/{memberId}/preview-message'>

interface PreviewedProps {
  readonly preview: Preview
  readonly onMessage: (message: string) => void
  /** The empty text: as the person's data say. */
  readonly onLanguage: (language: string) => void
  readonly isLanguageChosen: boolean
}

export function Previewed({ preview, onMessage, onLanguage, isLanguageChosen }: PreviewedProps) {
  const { problems, warnings } = preview
  return (
    <div className="message-preview">
      <div className="inline-form">
        <label>
          Message{' '}
          <select value={preview.message} onChange={({ target }) => onMessage(target.value)}>
            {preview.messages.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        {/* biome-ignore lint/a11y/useSemanticElements: not fields of a form */}
        <span role="group" aria-label="Language">
          <Button aria-pressed={!isLanguageChosen} onClick={() => onLanguage('')}>
            As the person
          </Button>
          {preview.languages.map((language) => (
            <Button
              key={language}
              aria-pressed={isLanguageChosen && language === preview.language}
              onClick={() => onLanguage(language)}
            >
              {language}
            </Button>
          ))}
        </span>
      </div>
      {problems.map(({ line, column, message }) => (
        <p key={`${line} ${column} ${message}`} className="bad-text" role="alert">
          Line {line}, column {column}: {message} Nothing would be sent.
        </p>
      ))}
      {warnings.map((warning) => (
        <p key={warning} className="warn-text">
          {warning}
        </p>
      ))}
      <Facts facts={factsOf(preview)} />
      <Body preview={preview} />
    </div>
  )
}

function factsOf(preview: Preview) {
  const { isSample, isCorrection, memberKey, from, to, language, languageBecause } = preview
  const { phaseName, stepName, startText, formerText, subject } = preview
  return {
    For: isSample ? 'a made-up member' : memberKey,
    From: from,
    To: to || '–',
    'Sent by': [phaseName, stepName].filter((name) => name !== null).join(' / '),
    Language: `${language}: ${languageBecause}`,
    Start: startText ?? '–',
    ...(isCorrection && { 'Start sent before': formerText ?? '–' }),
    Subject: subject,
  }
}

function Body({ preview: { body, isHtml } }: { readonly preview: Preview }) {
  if (!isHtml) return <pre className="message-body">{body}</pre>
  return (
    <>
      <iframe className="message-body" sandbox="" srcDoc={shownHtml(body)} title="The message" />
      <details>
        <summary>HTML as it is sent</summary>
        <pre className="message-body">{body}</pre>
      </details>
      <p className="quiet">Colours, images and links are not shown.</p>
    </>
  )
}
