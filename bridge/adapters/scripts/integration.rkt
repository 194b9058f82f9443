;; What ralph-bridge loads into Racket: announcements of prompts and commands (OSC 633), each ending in a nonce.
;; `_ripple_exec_file` is what adapter files call.
(define _ripple_exec_file
  (let ([nonce "{nonce}"]
        [failed #f])
    (define (mark payload)
      (let ([out (current-output-port)])
        (write-string (string-append "\e]633;" payload ";" nonce "\a") out)
        (flush-output out)))
    (define shown (error-display-handler))
    (error-display-handler
     (lambda (message value)
       (set! failed #t)
       (shown message value)))
    (define prompt (current-prompt-read))
    (current-prompt-read
     (lambda ()
       (flush-output (current-error-port))
       (mark (if failed "D;1" "D;0"))
       (set! failed #f)
       (mark (string-append "P;Cwd=" (path->string (current-directory))))
       (mark "A")
       (let ([read-form (current-read-interaction)])
         (display "> ")
         (flush-output)
         (mark "B")
         (let ([form (parameterize ([current-get-interaction-input-port (current-get-interaction-input-port)])
                       (read-form (object-name (current-input-port)) ((current-get-interaction-input-port))))])
           ;; The line end behind the form belongs to it.
           (let skip ()
             (when (and (char-ready? (current-input-port))
                        (let ([next (peek-char (current-input-port))])
                          (and (char? next) (char-whitespace? next))))
               (read-char (current-input-port))
               (skip)))
           (mark "C")
           form))))
    (lambda (path)
      (define forms
        (call-with-input-file path
          (lambda (in)
            (let loop ([all '()])
              (let ([form (read in)])
                (if (eof-object? form) (reverse all) (loop (cons form all))))))))
      (with-handlers ([exn:fail:filesystem? void]) (delete-file path))
      (let loop ([rest forms])
        (cond
          [(null? rest) (void)]
          [(null? (cdr rest)) (eval (car rest))]
          [else
           (call-with-values (lambda () (eval (car rest))) (lambda values (for-each (current-print) values)))
           (loop (cdr rest))])))))
