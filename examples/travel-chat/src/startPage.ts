/**
 * The start page: one door for travellers, one for the operator. It signs in without a password, because this is an
 * example.
 */
import { HttpServerResponse } from "effect/http"

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#faf9f6, #161615); color: light-dark(#1f1e1b, #edebe5) }
main { max-width: 760px; margin: 10vh auto 0; padding: 0 20px }
h1 { margin: 0 0 4px; font-size: 26px }
p { margin: 0; color: light-dark(#4a4842, #c6c2b8) }
.doors { display: grid; grid-template-columns: repeat(auto-fit, minmax(260px, 1fr)); gap: 16px; margin-top: 28px }
section { display: grid; align-content: start; gap: 10px; padding: 20px; border: 1px solid light-dark(#e5e1d8, #34332f); border-radius: 14px; background: light-dark(#fff, #1e1e1c) }
h2 { margin: 0; font-size: 18px }
.who { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 6px }
a { padding: 8px 16px; border-radius: 99px; background: light-dark(#0d6b63, #5fd0bf); color: light-dark(#fff, #07211e); font-weight: 600; text-decoration: none }
a:focus-visible { outline: 3px solid light-dark(#09544e, #83e0d1); outline-offset: 2px }
`

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Travel office</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Travel office</h1>
<p>An agent plans trips, and asks before it books. Somebody watches what it does.</p>
<div class="doors">
<section aria-labelledby="chat">
<h2 id="chat">Plan a trip</h2>
<p>Talk to the planner. Each traveller sees only their own trips and conversations.</p>
<div class="who"><a href="/sign-in/ada">Ada</a><a href="/sign-in/ben">Ben</a></div>
</section>
<section aria-labelledby="studio">
<h2 id="studio">Watch the agent</h2>
<p>See every run as it happens, decide about bookings that wait, and look after calls of which nobody knows whether they happened.</p>
<div class="who"><a href="/sign-in/olga">Olga, the operator</a></div>
</section>
</div>
</main>
</body>
</html>
`

/** Returns the start page. It runs no script and loads no file. */
export const startPage = HttpServerResponse.text(page, {
  contentType: "text/html; charset=utf-8",
  headers: {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  }
})
