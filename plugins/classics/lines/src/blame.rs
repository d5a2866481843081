//! Failures in the words of the command line.

use wire::Failure;

/// Names the option that set the parameter which `failure` is about. `options` holds parameters
/// and the options that set them.
pub fn blame(failure: Failure, options: &[(&str, &str)]) -> Failure {
    let parameter = failure.parameter.as_deref().unwrap_or_default();
    // An element of a list is called `name[index]`.
    let (parameter, _) = parameter.split_once('[').unwrap_or((parameter, ""));
    match options.iter().find(|(set, _)| *set == parameter) {
        Some((_, option)) => Failure {
            message: format!("option {option}: {}", failure.message),
            parameter: Some((*option).to_owned()),
            ..failure
        },
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use kit::failure::bad_parameter;

    use super::*;

    #[test]
    fn what_no_option_set_keeps_its_words() {
        let options = [("files", "-n"), ("directories", "-d")];
        let blamed = |parameter| blame(bad_parameter(parameter, "too many"), &options);
        assert_eq!(blamed("files").message, "option -n: too many");
        assert_eq!(blamed("directories[3]").parameter.as_deref(), Some("-d"));
        assert_eq!(blamed("seed").message, "too many");
    }
}
