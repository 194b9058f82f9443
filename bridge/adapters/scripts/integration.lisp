;; What ralph-bridge loads into Common Lisp: announcements of prompts and commands (OSC 633), each ending in a nonce and the
;; prompt's number.
;; SBCL, ABCL and CCL; `ripple-exec-file` is what adapter files call.
(defpackage :ralph-bridge (:use :cl))
(in-package :ralph-bridge)

(defvar *nonce* "{nonce}")
(defvar *number* 0)
(defvar *failed* nil)

(defun mark (payload &optional (stream *standard-output*))
  (format stream "~C]633;~A;~A.~D~C" (code-char 27) payload *nonce* *number* (code-char 7)))

(defun cwd ()
  (namestring #+sbcl *default-pathname-defaults* #-sbcl (truename ".")))

(defun finished (stream)
  (finish-output *error-output*)
  (finish-output *standard-output*)
  (mark (if *failed* "D;1" "D;0") stream)
  (setf *failed* nil)
  (let ((folder (cwd)))
    (mark (concatenate 'string "P;Cwd=" (if (string= folder "") (namestring (truename ".")) folder)) stream))
  (incf *number*)
  (mark "A" stream))

(defun begun (stream)
  (mark "B" stream)
  (finish-output stream))

(defun cl-user::ripple-exec-file (path)
  "Run a file as if it had been typed: each form in turn, the values of the last one are shown."
  (let ((forms (with-open-file (in path :external-format #+sbcl :utf-8 #-sbcl :default)
                 (loop with end = (gensym)
                       for form = (read in nil end)
                       until (eq form end)
                       collect form))))
    (ignore-errors (delete-file path))
    (loop for (form . rest) on forms
          for values = (multiple-value-list (eval form))
          unless rest return (values-list values))))

#+sbcl
(defun more-on-the-line (in)
  "Whether another form was typed behind the last one: then there is no prompt for anybody yet."
  (loop while (and (listen in) (member (peek-char nil in nil nil) '(#\Newline #\Return #\Space #\Tab)))
        do (read-char in))
  (listen in))

#+sbcl
(progn
  (let ((prompt sb-impl::*repl-prompt-fun*))
    (setf sb-impl::*repl-prompt-fun*
          (lambda (stream)
            (cond ((more-on-the-line *standard-input*)
                   (fresh-line stream))
                  (t
                   (finished stream)
                   (funcall prompt stream)
                   (begun stream))))))
  (let ((read-form sb-impl::*repl-read-form-fun*)
        (fresh t))
    (setf sb-impl::*repl-read-form-fun*
          (lambda (in out)
            (let ((form (funcall read-form in out)))
              (when fresh (mark "C"))
              (setf fresh (not (more-on-the-line in)))
              form))))
  (sb-ext:without-package-locks
    (sb-int:encapsulate 'sb-debug::debug-prompt 'ralph-bridge
                        (lambda (prompt stream)
                          (setf *failed* t)
                          (finished stream)
                          (funcall prompt stream)
                          (begun stream)))))

#+ccl
(let ((prompt #'ccl::print-listener-prompt))
  (let ((ccl::*warn-if-redefine-kernel* nil))
    (setf (fdefinition 'ccl::print-listener-prompt)
          (lambda (stream &rest more)
            (finished stream)
            (apply prompt stream more)
            (begun stream)))))

#+abcl
(let ((prompt tpl::*prompt*))
  (setf tpl::*prompt*
        (lambda (stream)
          (finished stream)
          (if (functionp prompt) (funcall prompt stream) (format stream prompt (tpl::prompt-package-name)))
          (begun stream))))

(in-package :cl-user)
